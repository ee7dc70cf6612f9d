import { Client } from "pg";
import { systemClock } from "../../../receiver/clock.ts";
import { openServerStore } from "../../../receiver/postgres/index.ts";
import type { Store } from "../../../receiver/store/port.ts";
import type { Backend } from "../store-suite/harness.ts";
import { newDatabase, query } from "./server.ts";

/** Deletes the data of a test. A new database for each test would take five times as long. */
const EMPTY = `
  TRUNCATE receiver.events, receiver.handlers, receiver.steps, receiver.bookmarks;
  DELETE FROM receiver.job; DELETE FROM receiver.queue WHERE name <> '/unwanted';
  DROP SCHEMA receiver_handlers CASCADE; CREATE SCHEMA receiver_handlers`;

let ofThisFile: Promise<string> | undefined;

/** An empty database. Time passes by moving the stored times back. */
export async function postgresBackend(): Promise<Backend & { url: string }> {
  const url = await (ofThisFile ??= newDatabase());
  await query(url, EMPTY);
  return {
    url,
    isSqlite: false,
    open: async () => openPostgres(url),
    pass: async (ms) => void (await query(url, passed(ms))),
    // Its heartbeats stop; others take over when the last one is too old.
    kill: async (store) => {
      await store.close();
      await query(url, "UPDATE receiver.job SET heartbeat_on = heartbeat_on - interval '31 s'");
    },
    rows: async (sql) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      try {
        await client.query("SET search_path = receiver_handlers");
        return (await client.query<Record<string, unknown>>(sql)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

/** The store of a worker on this database. */
export async function openPostgres(
  databaseUrl: string,
  options: Partial<Parameters<typeof openServerStore>[0]> = {},
): Promise<Store> {
  const common = { clock: systemClock, isWorker: true, onFatal: () => undefined };
  return openServerStore({ databaseUrl, ...common, ...options });
}

function passed(ms: number): string {
  const by = `interval '${String(ms)} ms'`;
  return `
    UPDATE receiver.events SET received_at = received_at - ${by};
    UPDATE receiver.job SET created_on = created_on - ${by}, start_after = start_after - ${by}, completed_on = completed_on - ${by},
      data = CASE WHEN data ? 'since' THEN jsonb_build_object('since', (data->>'since')::bigint - ${String(ms)}) END;
    UPDATE receiver.handlers SET seen_at = seen_at - ${by};
    UPDATE receiver.bookmarks SET value = (value::bigint - ${String(ms)})::text WHERE name = 'pruned before'`;
}
