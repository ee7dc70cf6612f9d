import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { get, idOf, newBody, post } from "../helpers/events.ts";
import { startProcess } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { ALL } from "../../helpers/run/sizes.ts";

const LINES = 6_000;
/** Their lines exceed the buffers between a process and its reader, but not the limit of what is kept. */
const EVENTS = 1_200;
const pageSchema = z.object({ data: z.array(z.unknown()) });
const handledSchema = z.looseObject({
  part: z.string().optional(),
  msg: z.string(),
  time: z.string(),
  event_id: z.string().optional(),
});
const writtenSchema = z.looseObject({ line: z.int() });
const log = pathToFileURL(join(import.meta.dirname, "../../../receiver/operations/log.ts")).href;

/** Longer than it takes to flush a dozen times. */
const FLUSHES_MS = 500;

/** Logs six megabytes, a tenth of a megabyte per turn; reports when it is through, and ends later. */
const writer = `
  import { createLog } from "${log}";
  const log = createLog({ level: "info" });
  for (let line = 1; line <= ${String(LINES)}; line += 1) {
    log.info({ line }, "x".repeat(950));
    if (line % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  for (const endMs = performance.now() + ${String(FLUSHES_MS)}; performance.now() < endMs; ) {
    log.info({ line: ${String(LINES + 1)} }, "one more");
    await new Promise((resolve) => setImmediate(resolve));
  }
  process.stderr.write("through");
  process.stdin.once("data", () => log.flush(() => process.exit()));`;

test("a worker's log is complete and in order when it ends", async () => {
  const receiver = await startProcess({
    environment: { DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}` },
  });
  const { child } = receiver;
  child.stdout?.pause();
  const bodies = Array.from({ length: EVENTS }, () => newBody());
  const left = bodies.values();
  const clients = Array.from({ length: 16 }, async () => {
    for (const body of left) expect((await post(receiver.url, body)).status).toBe(200);
  });
  await Promise.all(clients);
  for (const state of ["waiting", "running"]) {
    await until(
      async () => (await get(`${receiver.adminUrl}/inbox?state=${state}`)).json(),
      (page) => pageSchema.parse(page).data.length === 0,
    );
  }
  const closed = once(child, "close");
  child.kill("SIGTERM");
  child.stdout?.resume();
  await closed;
  expect(receiver.lines.at(-1)).toContain('"msg":"stopped"');
  const handled = receiver.lines
    .map((line) => handledSchema.parse(JSON.parse(line)))
    .filter(({ part, msg }) => part === "worker" && msg === "handled");
  expect(handled.map(({ event_id: id = "" }) => id).toSorted()).toEqual(bodies.map(idOf).toSorted());
  const times = handled.map(({ time }) => time);
  expect(times).toEqual(times.toSorted());
});

test.runIf(ALL)(
  "an unread log blocks nothing and is dropped beyond a megabyte; kept lines are complete",
  async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", writer], { stdio: "pipe" });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [said] = await once(child.stderr, "data");
    expect(String(said)).toBe("through");

    const read = text(child.stdout);
    child.stdin.write("end");
    const lines = (await read)
      .trimEnd()
      .split("\n")
      .map((line) => writtenSchema.parse(JSON.parse(line)).line);
    expect(lines).toEqual(lines.toSorted((left, right) => left - right));
    expect(lines.length).toBeLessThan(LINES / 2);
  },
);
