import assert from "node:assert/strict";
import Database from "better-sqlite3";
import { EFFECTS, IN_ORDER, UNHANDLED } from "./handlers.ts";

type EventRow = { seq: number; id: string; type: string | null; isPruned: 0 | 1 };
type JobRow = { event: number; handler: string; state: string; attempts: number; key: string | null };

/** The contents of the database at one moment, read without the receiver. */
export type Picture = { events: EventRow[]; jobs: JobRow[]; effects: string[]; isAnnounced: boolean };

export function takePicture(file: string): Picture {
  const db = new Database(file, { readonly: true });
  try {
    const has = (table: string): boolean =>
      db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(table) !== undefined;
    if (!has("events")) return { events: [], jobs: [], effects: [], isAnnounced: false };
    return {
      events: db
        .prepare<[], EventRow>(
          "SELECT seq, 'evt_' || lower(hex(id)) AS id, type, body IS NULL AS isPruned FROM events",
        )
        .all(),
      jobs: db
        .prepare<[], JobRow>(
          "SELECT event, name AS handler, state, attempts, jobs.key FROM jobs JOIN handlers ON number = handler",
        )
        .all(),
      effects: has("effects") ? db.prepare<[], string>("SELECT event_id FROM effects").pluck().all() : [],
      isAnnounced: db.prepare("SELECT 1 FROM handlers WHERE announced > 0").get() !== undefined,
    };
  } finally {
    db.close();
  }
}

/** Checks what must hold at every moment, between any two statements, and on any disk after a power cut. */
export function checkPicture(
  { events, jobs, effects, isAnnounced }: Picture,
  known: { acknowledged: ReadonlySet<string>; genuine: ReadonlySet<string>; maximumAttempts: number },
): void {
  const stored = new Set(events.map(({ id }) => id));
  for (const id of known.acknowledged)
    assert.ok(stored.has(id), `R1: ${id} was acknowledged and is not stored`);
  for (const id of stored)
    assert.ok(known.genuine.has(id), `R2: ${id} is stored, and the service never sent it`);
  assert.equal(stored.size, events.length, "R3: an event has two rows");
  assert.equal(new Set(effects).size, effects.length, "R5: an event has two effects");

  const jobsOf = Map.groupBy(jobs, ({ event }) => event);
  const withEffect = new Set(effects);
  for (const { seq, id, type, isPruned } of events) {
    const ofEvent = jobsOf.get(seq) ?? [];
    const names = ofEvent.map(({ handler }) => handler).toSorted();
    if (isPruned === 0 && isAnnounced) {
      const wanted = type === UNHANDLED ? [""] : [EFFECTS, IN_ORDER];
      assert.deepEqual(names, wanted, `R4: ${id} has not one job for each handler that wants it`);
    }
    const job = ofEvent.find(({ handler }) => handler === EFFECTS);
    if (job) assert.equal(job.state === "done", withEffect.has(id), `R5: ${id} is ${job.state}`);
    for (const { handler, attempts } of ofEvent)
      assert.ok(attempts <= known.maximumAttempts, `R6: ${attempts} attempts of ${handler} at ${id}`);
  }
  const running = jobs.filter(({ handler, state }) => handler === IN_ORDER && state === "running");
  const keys = running.map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length, "R9: two jobs of one key are running");
}

/** The unfinished jobs. */
export function unfinished({ jobs }: Picture): string[] {
  return jobs
    .filter(({ state }) => state === "waiting" || state === "running")
    .map(({ event, handler, state }) => `${handler} of event ${event} is ${state}`);
}
