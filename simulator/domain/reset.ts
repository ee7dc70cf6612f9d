import type { Database } from "better-sqlite3";

const CLEAR = ["DELETE FROM attempts", "DELETE FROM deliveries", "DELETE FROM events", "DELETE FROM agenda"];
const CLEAR_ENDPOINTS = "DELETE FROM endpoints";
const UNFLAG_ENDPOINTS = "UPDATE endpoints SET consecutive_failures = 0";

/** Empties the tables of what was sent. Ids go on counting, so a receiver's memory never mistakes a new event. */
export function resetTables(database: Database, keep: { endpoints: boolean }): void {
  for (const statement of CLEAR) database.exec(statement);
  database.exec(keep.endpoints ? UNFLAG_ENDPOINTS : CLEAR_ENDPOINTS);
}
