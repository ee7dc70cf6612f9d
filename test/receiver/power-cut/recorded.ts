import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { createAccept } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { openForWriting } from "../../../receiver/engines/sqlite/writer.ts";

/** Accepts batches and says so after each, for a recording of its system calls: FILE, FULL or NORMAL, BATCHES. */
const [file = "", synchronous = "FULL", batches = "100"] = process.argv.slice(2);
const db = openForWriting(file);
if (synchronous === "NORMAL") db.pragma("synchronous = NORMAL");
// Checkpoints come in the recording too, and often.
db.pragma("wal_autocheckpoint = 30");
const accept = createAccept(db);

for (let batch = 0; batch < Number(batches); batch += 1) {
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
      orderingKey: null,
      source: "webhook",
      receivedAtMs: batch,
      body: Buffer.alloc(200 + (batch % 7) * 700, id),
    })),
  );
  // One system call, after the commit: what the sender would have been told by then.
  writeSync(1, `ACKNOWLEDGED ${ids.join(" ")}\n`);
}
// No close: it would checkpoint, and a power cut doesn't.
process.kill(process.pid, "SIGKILL");
