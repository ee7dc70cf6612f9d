import { join } from "node:path";
import Database from "better-sqlite3";
import { better, defineQueue, defineWorker } from "plainjob";
import { z } from "zod";
import { sampleEnvelope } from "../../shared/samples.ts";

/** Handles a backlog with another queue, or with none, in a process of its own; says how many milliseconds it took. */
const [, , queue = "", directory = "", count = "0"] = process.argv;
const EVENTS = Number(count);

const CREATE_EFFECTS = `CREATE TABLE effects (event_id TEXT PRIMARY KEY, call_id TEXT, outcome TEXT, duration_seconds INTEGER)`;
const INSERT_EFFECT = `INSERT INTO effects VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const CREATE_EVENTS = `CREATE TABLE events (seq INTEGER PRIMARY KEY, state TEXT NOT NULL, body BLOB NOT NULL)`;

/** It says four things about each job, which would be measured too. */
const silent = (): void => undefined;
const logger = { error: silent, warn: silent, info: silent, debug: silent };

const jobSchema = z.object({
  id: z.string(),
  data: z.object({ object: z.object({ id: z.string(), outcome: z.string(), duration_sec: z.number() }) }),
});
type Job = z.infer<typeof jobSchema>;

const jobs = Array.from({ length: EVENTS }, (_, index) =>
  sampleEnvelope("call.completed", { id: `evt_${String(index).padStart(32, "0")}` }),
);

/** The same little that our handler for calls writes. */
function createEffects(file: string): { db: Database.Database; write: (job: Job) => void } {
  const db = new Database(join(directory, file));
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
  bare: async () => {
    const { db, write } = createEffects("bare.db");
    db.exec(CREATE_EVENTS);
    const add = db.prepare<[Buffer]>("INSERT INTO events (state, body) VALUES ('pending', ?)");
    db.transaction(() => {
      for (const job of jobs) add.run(Buffer.from(JSON.stringify(job)));
    })();
    const pending = db.prepare<[number], { seq: number; body: Buffer }>(
      "SELECT seq, body FROM events WHERE seq > ? ORDER BY seq LIMIT 100",
    );
    const done = db.prepare<[number]>("UPDATE events SET state = 'done' WHERE seq = ?");
    const handle = db.transaction((event: { seq: number; body: Buffer }) => {
      write(jobSchema.parse(JSON.parse(event.body.toString("utf8"))));
      done.run(event.seq);
    });
    const startedAtMs = performance.now();
    for (let seq = 0; seq < EVENTS;) {
      for (const event of pending.all(seq)) {
        handle.immediate(event);
        ({ seq } = event);
      }
    }
    return performance.now() - startedAtMs;
  },
  plainjob: async () => {
    const { write } = createEffects("effects.db");
    const connection = better(new Database(join(directory, "plainjob.db")));
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
