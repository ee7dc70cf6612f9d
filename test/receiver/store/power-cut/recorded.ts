import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { open } from "node:fs/promises";
import Database from "better-sqlite3";
import { systemClock } from "../../../../receiver/clock.ts";
import { openSqliteStore } from "../../../../receiver/store/sqlite.ts";
import type { Job, Store } from "../../../../receiver/store/port.ts";

/**
 * The program whose system calls are recorded: an intake accepts batches and reports each, while a worker with its own
 * connection handles them, with one effect each. VARIANT is `as-is`, or the bug of a control: `no-sync`, `joined-sync`
 * (a batch counts a sync that was already running), `worker-off` (a worker with synchronous=OFF).
 */
const [file = "", variant = "as-is", batches = "100"] = process.argv.slice(2);

await breakSync();
const options = { file, clock: systemClock, onFatal: (problem: string) => process.stderr.write(problem) };
const intake = await openSqliteStore({ ...options, isWorker: false });
const worker = await openSqliteStore({ ...options, isWorker: true });
const never = new AbortController().signal;
await worker.jobs.begin(
  ["effects", "second"].map((name) => ({
    name,
    types: "*" as const,
    key: name === "second" ? ["type"] : [],
    migrations: name === "effects" ? ["CREATE TABLE effects (id TEXT)"] : [],
    maximumAttempts: 5,
    backoffMs: () => 0,
  })),
  never,
);
// The recording needs checkpoints, too, and often.
const checkpoints = new Database(file);
checkpoints.pragma(`synchronous = ${variant === "worker-off" ? "OFF" : "NORMAL"}`);

const life = { isOver: false };
const working = work();
// Two loops alternate: one commits while the sync of the other is running.
await Promise.all([0, 1].map(acceptAll));
life.isOver = true;
await working;
// No close: it would checkpoint, and a power cut does not.
process.kill(process.pid, "SIGKILL");

async function acceptAll(part: number): Promise<void> {
  for (let batch = 0; batch < Number(batches); batch += 1) {
    await accept(intake, batch, part);
    if (batch % 3 === 2) await accept(intake, batch - 2, 1 - part);
    if (part === 0 && batch % 5 === 4)
      checkpoints.pragma(`wal_checkpoint(${["PASSIVE", "RESTART", "TRUNCATE"][batch % 3] ?? ""})`);
  }
}

/** Stores some events, and records in one system call which ones the sender would see acknowledged. */
async function accept(store: Store, batch: number, part: number): Promise<void> {
  const events = Array.from({ length: 1 + (batch % 4) }, (_, index) => {
    const id = `evt_${createHash("md5").update([batch, part, index].join(" ")).digest("hex")}`;
    const envelope = { id, type: "call.completed" };
    const body = Buffer.alloc(200 + (batch % 7) * 700, id);
    return { ...envelope, objectId: null, source: "webhook" as const, trace: null, body, envelope };
  });
  const result = await store.intake.accept(events);
  if (result.ok) writeSync(1, `ACKNOWLEDGED ${events.map(({ id }) => id).join(" ")}\n`);
}

async function work(): Promise<void> {
  for (let round = 0; !life.isOver; round += 1) {
    const [effects, second] = await Promise.all([
      worker.jobs.claim("effects", 5),
      worker.jobs.claim("second", 5),
    ]);
    await Promise.all([
      ...effects.map(handle),
      ...second.map(async (job) => worker.jobs.end(job, { kind: "done" })),
    ]);
    if (round % 7 === 6) {
      const dead = await worker.ledger.list({ state: "dead" }, { limit: 20 });
      await worker.ledger.requeue(dead.map(({ id }) => id));
    }
    await new Promise((turn) => setImmediate(turn));
  }
}

/** Some attempts fail or end as dead; a done one writes its effect in the same transaction. */
async function handle(job: Job): Promise<void> {
  const kind = Number.parseInt(job.id.slice(-1), 16) % 4;
  if (job.attempt === 1 && kind === 1)
    await worker.jobs.end(job, { kind: "failed", error: "again", delayMs: 0 });
  else if (job.attempt === 1 && kind === 2) await worker.jobs.end(job, { kind: "dead", error: "not yet" });
  else
    await worker.jobs.atomically(
      job,
      async (db) => void (await db.query("INSERT INTO effects VALUES ($1)", [job.id])),
      never,
    );
}

async function breakSync(): Promise<void> {
  const handle = await open("/dev/null");
  const prototype = Object.getPrototypeOf(handle) as { datasync: () => Promise<void> };
  const { datasync } = prototype;
  await handle.close();
  let running: Promise<void> | undefined;
  if (variant === "no-sync") prototype.datasync = async () => undefined;
  if (variant === "joined-sync")
    prototype.datasync = async function join() {
      running ??= datasync.call(this).finally(() => (running = undefined));
      return running;
    };
}
