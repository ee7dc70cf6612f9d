import type { Database } from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../simulator/files/database.ts";
import { createAttempts } from "../../../simulator/domain/attempts.ts";
import { createDeliverySearch } from "../../../simulator/domain/delivery-search.ts";
import { createDeliverySummaries } from "../../../simulator/domain/delivery-summaries.ts";
import { createEventSummaries } from "../../../simulator/domain/event-summaries.ts";
import { createJournal } from "../../../simulator/domain/journal.ts";
import { createVerdicts } from "../../../simulator/domain/verdicts.ts";

/** A database, and what SQLite plans for each statement that is prepared on it from now on. */
function openPlanned(): { database: Database; plans: string[] } {
  const opened = openDatabase();
  if (!opened.ok) throw new Error(opened.message);
  const { database } = opened;
  onTestFinished(() => void database.close());
  const prepare = database.prepare.bind(database);
  const plans: string[] = [];
  database.prepare = (sql: string) => {
    const steps = prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
    const blanks = Array.from({ length: sql.split("?").length - 1 }, () => null);
    plans.push(...steps.all(...blanks).map(({ detail }) => detail));
    return prepare(sql);
  };
  return { database, plans };
}

const monotonicMs = (): number => 0;

test.each([
  {},
  { eventId: "evt_1" },
  { endpointId: "ep_1" },
  { state: "dead" },
  { verdict: "ok" },
  { cause: "server_error" },
  { gaveUpSinceMs: 1 },
  { type: "call.completed" },
  { text: "lost", state: "delivered", type: "call.completed" },
] as const)("deliveries of %j are read from an index, in its order, however many there are", (filter) => {
  const { database, plans } = openPlanned();
  const find = createDeliverySearch({ database, monotonicMs });
  plans.length = 0;
  find({ limit: 100, ...filter });
  const walked = Object.keys(filter).length === 0 ? "(rowid<?)" : "=? AND seq<?)";
  expect(plans.filter((step) => step.startsWith("SEARCH d USING") && step.endsWith(walked))).toHaveLength(1);
  expect(plans.filter((step) => /TEMP B-TREE|SCAN (?:d|deliveries)\b/.test(step))).toEqual([]);
});

test.each([{}, { type: "call.completed" }, { text: "lost", orgId: "org_1" }] as const)(
  "events of %j are read from an index, in its order, however many there are",
  (filter) => {
    const { database, plans } = openPlanned();
    const summaries = createEventSummaries({ database, monotonicMs });
    plans.length = 0;
    summaries.page({ limit: 100, ...filter });
    const walked = "type" in filter ? "(type=? AND seq<?)" : "(rowid<?)";
    expect(plans.filter((step) => step.startsWith("SEARCH events") && step.endsWith(walked))).toHaveLength(1);
    expect(plans.filter((step) => /TEMP B-TREE|SCAN events\b/.test(step))).toEqual([]);
  },
);

test("deliveries are judged by those of their event, however many their endpoint got", () => {
  const { database, plans } = openPlanned();
  const attempts = createAttempts({ database });
  const deliverySummaries = createDeliverySummaries({ database, attempts });
  createVerdicts({ database, deliverySummaries, journal: createJournal({ firstId: 1 }) });
  // Those before a delivery, which tell whether it is a duplicate, and those that are judged with it.
  const ofEvent = plans.filter((step) => step.includes("USING INDEX deliveries_of_event"));
  expect(ofEvent).toEqual([
    "SEARCH p USING INDEX deliveries_of_event (event_id=? AND seq<?)",
    "SEARCH deliveries USING INDEX deliveries_of_event (event_id=?)",
  ]);
  expect(
    plans.filter((step) => /SCAN (?:d|p|e|h|a|deliveries|events|attempts|handlings)\b/.test(step)),
  ).toEqual([]);
});
