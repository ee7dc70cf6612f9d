import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { systemClock } from "../../../receiver/clock.ts";
import { createAccept } from "../../../receiver/engines/sqlite/accept.ts";
import type { ClaimedJob } from "../../../receiver/engines/sqlite/taking.ts";
import { syncCommits } from "../../../receiver/engines/sqlite/database.ts";
import { openInboxFile } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { createRetention } from "../../../receiver/engines/sqlite/retention.ts";
import { createParts } from "../../../receiver/engines/sqlite/index.ts";
import { openWorkFile, workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";

/**
 * The life of both files on one thread, for a recording of its system calls: batches are accepted, and it says so after
 * each; events are handled with an effect, set aside, requeued and pruned. VARIANT is `as-is`, or what a control leaves
 * out: `inbox-normal` does not sync acknowledgements, `unsynced-retention` not the work file before it prunes.
 */
const [file = "", variant = "as-is", batches = "100"] = process.argv.slice(2);
const MINUTE_MS = 60_000;

const inbox = openInboxFile({ file, busyTimeoutMs: 1_000 });
const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: 1_000 });
if (variant === "inbox-normal") inbox.pragma("synchronous = NORMAL");
// Checkpoints come in the recording too, and often.
inbox.pragma("wal_autocheckpoint = 30");
db.pragma("wal_autocheckpoint = 40");
db.exec("CREATE TABLE effects (seq INTEGER)");
db.pragma("wal_checkpoint(TRUNCATE)");

const policy = {
  types: "*",
  migrations: [],
  maximumAttempts: 5,
  backoffMs: () => 0,
  concurrency: 5,
  rateLimit: undefined,
  key: undefined,
} as const;
// Two of each event, of which the second leaves no effect.
const { transactions, handlers, claims, settling } = createParts({
  db,
  inbox,
  clock: systemClock,
  policies: [
    { ...policy, name: "effects" },
    { ...policy, name: "second" },
  ],
});
await transactions.run(() => handlers.announce());
const accept = createAccept(inbox);
const retention = createRetention({
  inbox,
  db,
  write: transactions.run,
  pause: async () => undefined,
  sync: () => {
    if (variant !== "unsynced-retention") syncCommits(db.name);
  },
});
const insertEffect = db.prepare<[number]>("INSERT INTO effects VALUES (?)");
const requeueDead = db.prepare(
  "UPDATE jobs SET state = 'pending', due_at_ms = 0, finished_at_ms = NULL WHERE state = 'dead'",
);

for (let batch = 0; batch < Number(batches); batch += 1) {
  const nowMs = batch * MINUTE_MS;
  const ids = Array.from({ length: 1 + (batch % 4) }, (_, index) => {
    const hex = createHash("md5")
      .update(`${String(batch)} ${String(index)}`)
      .digest("hex");
    return `evt_${hex}`;
  });
  accept(
    ids.map((id) => ({
      id,
      type: "call.completed",
      objectId: id,
      source: "webhook",
      trace: null,
      body: Buffer.alloc(200 + (batch % 7) * 700, id),
    })),
    nowMs,
  );
  // One system call, after the commit: what the sender would have been told by then.
  writeSync(1, `ACKNOWLEDGED ${ids.join(" ")}\n`);

  const { claimed } = await transactions.run(() =>
    claims.claim({ nowMs, worker: () => 1, limit: 10, room: () => Infinity, suspects: "later" }),
  );
  for (const job of claimed) await transactions.run(() => handle(job, nowMs));
  if (batch % 7 === 6) await transactions.run(() => requeueDead.run());
  // Every second time what was handled just now, whose effects no checkpoint has synced yet.
  if (batch % 10 === 9) await retention.pruneBodies(nowMs + (batch % 20 === 9 ? -20 : 1) * MINUTE_MS);
}
// No close: it would checkpoint, and a power cut doesn't.
process.kill(process.pid, "SIGKILL");

/** Every fourth event is dead at first, and done once it was requeued; what is done has left an effect. */
function handle(job: ClaimedJob, nowMs: number): void {
  const seq = Math.floor(job.job / 1_024);
  if (job.handler === "second") settling.settle(job, { state: "done", error: null }, nowMs);
  else if (seq % 4 === 0 && job.attempt === 1)
    settling.settle(job, { state: "dead", error: "not yet" }, nowMs);
  else if (seq % 5 === 0 && job.attempt === 1)
    settling.settle(job, { state: "pending", error: "again" }, nowMs);
  else {
    insertEffect.run(seq);
    settling.settle(job, { state: "done", error: null }, nowMs);
  }
}
