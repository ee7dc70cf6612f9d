import { extname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { sampleEnvelope } from "../../shared/samples.ts";
import { sign, SIGNATURE_HEADER } from "../../shared/signature.ts";
import { startReceiver } from "../../simulator/processes/receiver-process.ts";
import { freePort } from "../helpers/free-port.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { changedCopy } from "./changed.ts";
import { EXAMPLES, pathOf, type Example } from "./receivers.ts";

/** Handling so many, with one synced write each, takes longer than a receiver takes to start. */
const BACKLOG = 10_000;
const SECRET = "whsec_0123456789abcdef";

const example = EXAMPLES.find(({ file }) => file === "sinatra_app.rb");

test.runIf(example !== undefined && example.absent === undefined)(
  "in sinatra_app.rb, a delivery does not wait until everything before it is handled",
  async () => {
    const database = join(temporaryDirectory(), "events");
    fill(database);
    const { deliver, handled } = await start(example, database);
    const status = await deliver(sampleEnvelope("call.completed").id);
    expect({ status, last: await handled(`event_${BACKLOG}`) }).toEqual({ status: 200, last: 0 });
  },
);

/** Work that fails for one event, in the words of each language. */
const FAILS: Record<string, string> = {
  ts: 'if (id.endsWith("0")) throw new Error("bad"); // Your work.',
  py: 'if event_id.endswith("0"): raise ValueError("bad")\n                # Your work.',
  php: "if (str_ends_with($id, '0')) throw new Exception('bad'); // Your work.",
  rb: 'raise "bad" if id.end_with?("0")\n      # Your work.',
};

for (const one of EXAMPLES) {
  const fails = FAILS[extname(one.file).slice(1)];
  if (fails === undefined) continue;
  test.runIf(one.absent === undefined)(
    `in ${one.file}, an event whose work fails stops none behind it, and stays unhandled`,
    async () => {
      const find = fails.endsWith("// Your work.") ? "// Your work." : "# Your work.";
      const path = changedCopy({ of: one.file, changes: [{ find, replace: fails }] }, onTestFinished);
      const { deliver, handled } = await start(one, join(temporaryDirectory(), "events"), path);
      const [bad, good] = ["0", "1"].map((digit) => `evt_${digit.repeat(32)}`);
      for (const id of [bad, good]) expect(await deliver(id)).toBe(200);
      await expect.poll(async () => handled(good), { timeout: 10_000 }).toBe(1);
      expect(await handled(bad)).toBe(0);
    },
  );
}

/** Starts an example, or a changed copy of it in `path`. */
async function start(one: Example | undefined, database: string, path = one && pathOf(one)) {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const url = `${origin}/webhooks`;
  const started = await startReceiver({
    command: ["env", `DATABASE=${database}`, ...(one?.command(path ?? "") ?? [])],
    url,
    env: { PORT: new URL(url).port, SIGNING_SECRET: SECRET },
    readyTimeoutMs: 60_000,
  });
  if (!started.ok) throw new Error([started.message, ...started.output].join("\n"));
  onTestFinished(() => started.receiver.kill());
  return {
    deliver: async (id = ""): Promise<number> => {
      const body = JSON.stringify({ ...sampleEnvelope("call.completed"), id });
      const signature = sign({ body, secret: SECRET, timestampSeconds: Math.floor(Date.now() / 1_000) });
      const headers = { "Content-Type": "application/json", [SIGNATURE_HEADER]: signature };
      return (await fetch(url, { method: "POST", body, headers })).status;
    },
    handled: async (id = ""): Promise<unknown> => {
      const answer: unknown = await (await fetch(`${origin}/handled/${id}`)).json();
      return z.object({ handled: z.number() }).parse(answer).handled;
    },
  };
}

/** Events that arrived earlier and are not handled yet. */
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
