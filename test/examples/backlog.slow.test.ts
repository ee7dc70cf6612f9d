import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { sampleEnvelope } from "../../shared/samples.ts";
import { sign, SIGNATURE_HEADER } from "../../shared/signature.ts";
import { startReceiver } from "../../simulator/processes/receiver-process.ts";
import { freePort } from "../helpers/free-port.ts";
import { EXAMPLES, pathOf } from "./receivers.ts";

/** So many take seconds to be handled, one synced write each: longer than a receiver takes to start. */
const BACKLOG = 10_000;
const SECRET = "whsec_0123456789abcdef";

const example = EXAMPLES.find(({ file }) => file === "sinatra_app.rb");

test.runIf(example !== undefined && example.absent === undefined)(
  "in sinatra_app.rb, a delivery does not wait until everything before it is handled",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "backlog-"));
    const database = join(folder, "events");
    fill(database);
    const origin = `http://127.0.0.1:${await freePort()}`;
    const url = `${origin}/webhooks`;
    const started = await startReceiver({
      command: ["env", `DATABASE=${database}`, ...(example?.command(pathOf(example)) ?? [])],
      url,
      env: { PORT: new URL(url).port, SIGNING_SECRET: SECRET },
      readyTimeoutMs: 60_000,
    });
    if (!started.ok) throw new Error([started.message, ...started.output].join("\n"));
    try {
      const body = JSON.stringify(sampleEnvelope("call.completed"));
      const signature = sign({ body, secret: SECRET, timestampSeconds: Math.floor(Date.now() / 1_000) });
      const { status } = await fetch(url, {
        method: "POST",
        body,
        headers: { [SIGNATURE_HEADER]: signature },
      });
      const last = await fetch(`${origin}/handled/event_${BACKLOG}`);
      expect({ status, last: await last.json() }).toEqual({ status: 200, last: { handled: 0 } });
    } finally {
      await started.receiver.kill();
      await rm(folder, { recursive: true });
    }
  },
);

/** Events that arrived before, and that nobody has handled yet. */
function fill(file: string): void {
  const database = new Database(file);
  database.pragma("journal_mode = WAL");
  database.exec(
    "CREATE TABLE events (id TEXT PRIMARY KEY, body BLOB NOT NULL, handled INTEGER NOT NULL DEFAULT 0)",
  );
  const insert = database.prepare("INSERT INTO events (id, body) VALUES (?, 'x')");
  database.transaction(() => {
    for (let number = 1; number <= BACKLOG; number += 1) insert.run(`event_${number}`);
  })();
  database.close();
}
