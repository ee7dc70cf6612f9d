import { randomBytes } from "node:crypto";
import { openSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import pino from "pino";
import { better, defineQueue, defineWorker } from "plainjob";
import { z } from "zod";
import { sampleEnvelope } from "../../shared/samples.ts";

/**
 * Handles a backlog with another queue, or with none, in a separate process; says how many milliseconds it took. The
 * queue's place is a directory.
 */
const [, , queue = "", place = "", count = "0"] = process.argv;
const EVENTS = Number(count);

const CREATE_EFFECTS = `CREATE TABLE effects (event_id TEXT PRIMARY KEY, call_id TEXT, outcome TEXT, duration_seconds INTEGER)`;
const INSERT_EFFECT = `INSERT INTO effects VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const CREATE_EVENTS = `CREATE TABLE events (seq INTEGER PRIMARY KEY, state TEXT NOT NULL, body BLOB NOT NULL)`;

/** plainjob logs four lines a job, which would be measured too. */
const silent = (): void => undefined;
const logger = { error: silent, warn: silent, info: silent, debug: silent };

const jobSchema = z.object({
  id: z.string(),
  data: z.object({ object: z.object({ id: z.string(), outcome: z.string(), duration_sec: z.number() }) }),
});
type Job = z.infer<typeof jobSchema>;

// Random ids, as the service makes them: consecutive ones would all go to the same page of an index.
const jobs = Array.from({ length: EVENTS }, () =>
  sampleEnvelope("call.completed", { id: `evt_${randomBytes(16).toString("hex")}` }),
);

/** The same row that our handler for calls writes. */
function createEffects(file: string): { db: Database.Database; write: (job: Job) => void } {
  const db = new Database(join(place, file));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = NORMAL");
  db.exec(CREATE_EFFECTS);
  const insert = db.prepare<[string, string, string, number]>(INSERT_EFFECT);
  return {
    db,
    write: ({ id, data: { object } }) => void insert.run(id, object.id, object.outcome, object.duration_sec),
  };
}

const queues: Record<string, () => Promise<number>> = {
  bare: async () => bare({ claims: false, logs: false }),
  claiming: async () => bare({ claims: true, logs: false }),
  logging: async () => bare({ claims: true, logs: true }),
  plainjob: async () => {
    const { write } = createEffects("effects.db");
    const connection = better(new Database(join(place, "plainjob.db")));
    const queue = defineQueue({ connection, logger });
    queue.addMany("call", jobs);
    return timed((handled) => {
      const worker = defineWorker(
        "call",
        async (job) => {
          write(jobSchema.parse(JSON.parse(job.data)));
          handled();
        },
        { queue, logger },
      );
      void worker.start();
    });
  },
};

/** A minimal loop, or one that also records each start, or reports each completion. */
async function bare({ claims, logs }: { claims: boolean; logs: boolean }): Promise<number> {
  const { db, write } = createEffects("bare.db");
  db.exec(CREATE_EVENTS);
  const add = db.prepare<[Buffer]>("INSERT INTO events (state, body) VALUES ('pending', ?)");
  db.transaction(() => {
    for (const job of jobs) add.run(Buffer.from(JSON.stringify(job)));
  })();
  const pending = db.prepare<[number], { seq: number; body: Buffer }>(
    "SELECT seq, body FROM events WHERE seq > ? ORDER BY seq LIMIT 100",
  );
  const claim = db.prepare<[number]>("UPDATE events SET state = 'claimed' WHERE seq = ?");
  const done = db.prepare<[number]>("UPDATE events SET state = 'done' WHERE seq = ?");
  const claimAll = db.transaction((events: { seq: number }[]) => {
    for (const { seq } of events) claim.run(seq);
  });
  const handle = db.transaction((job: Job, seq: number) => {
    write(job);
    done.run(seq);
  });
  const log = logs
    ? pino(pino.destination({ dest: openSync("/dev/null", "w"), minLength: 4_096 }))
    : undefined;
  const startedAtMs = performance.now();
  for (let from = 0; from < EVENTS;) {
    const events = pending.all(from);
    if (claims) claimAll.immediate(events);
    for (const { seq, body } of events) {
      const job = jobSchema.parse(JSON.parse(body.toString("utf8")));
      handle.immediate(job, seq);
      log?.info({ event_id: job.id, attempt: 1, outcome: "done", duration_ms: 0 }, "handled");
      from = seq;
    }
  }
  return performance.now() - startedAtMs;
}

/** From the start of a worker until it has handled the last event. */
async function timed(start: (handled: () => void) => void): Promise<number> {
  const startedAtMs = performance.now();
  let handled = 0;
  return new Promise((resolve) => {
    start(() => {
      handled += 1;
      if (handled === EVENTS) resolve(performance.now() - startedAtMs);
    });
  });
}

const run = queues[queue];
if (!run) throw new Error(`There is no queue "${queue}".`);
process.send?.(await run(), () => process.exit(0));
