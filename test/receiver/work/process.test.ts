import { fork } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { openStore } from "../../../receiver/store/open.ts";
import type { InboxJob } from "../../../receiver/store/port.ts";
import { startSupervisor, type SupervisorOptions } from "../../../receiver/work/supervisor.ts";
import { ALL } from "../../helpers/run/sizes.ts";
import { isAlive } from "../../helpers/is-alive.ts";
import { recordedLog } from "../helpers/log.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { accept } from "../store-suite/harness.ts";
import { documented } from "./test-worker.ts";

/** The handlers' process: any failure of a handler ends only this process, and another handles the remaining jobs. */

const HOSTILE = new URL("./hostile-handlers.mjs", import.meta.url);
const DIED = "the handlers' process died; events are stored, and it starts again";

test("handlers run with their services, which are closed on a drain, and a terminal's signals do not end them", async () => {
  const ended: string[] = [];
  const { send, state, notes, supervisor, printed } = await start(
    {},
    { onEnded: (some) => void ended.push(...some.map(({ handler }) => handler)) },
  );
  await state(await send("sends-strangely"), "done");
  await state(await send("works"), "done");
  const [, first] = await notes();
  expect(first).toContain('{"crm":"connected"}');
  const pid = Number(first?.split(" ")[1]);
  process.kill(pid, "SIGTERM");
  await state(await send("works"), "done");
  expect((await notes())[2]).toBe(first);
  await until(() => ended.length > 0);
  await state(await send("lingers"), "running");
  await Promise.all([supervisor.stop(5_000), supervisor.stop(5_000)]);
  // An error while it stops does not end it earlier.
  const words = printed().match(/lingered|services closed|closing services failed|fatal/g);
  expect(words).toEqual(["lingered", "services closed", "closing services failed"]);
  // Each is reported once, the last one too.
  expect(ended).toEqual(["sends-strangely", "works", "works", "lingers"]);
  expect(isAlive(pid)).toBe(false);
});

test.for(["exits", "blocks", ...(ALL ? ["exhausts-memory", "hoards-pages"] : [])])(
  "a handler that %s is named, its attempt counts, and another process continues",
  async (type) => {
    const { send, state, lines, pass, deaths } = await start({ HANDLER_MEMORY_MEGABYTES: "128" });
    const id = await send(type);
    await state(id, "running");
    if (type === "blocks") pass(6_000);
    expect(await state(id, "waiting")).toMatchObject({
      attempts: 1,
      lastError: expect.stringContaining("process ended"),
    });
    await state(await send("works"), "done");
    expect(lines).toMatchObject([{ handler: type, event_id: id }]);
    expect(deaths()).toBe(1);
  },
);

test("an uncaught error ends the process; the log has its place, but not its message", async () => {
  const { send, state, lines, printed } = await start();
  const id = await send("throws-later");
  expect(await state(id, "waiting", 1)).toMatchObject({
    lastError: expect.stringContaining("process ended"),
  });
  expect(lines).toMatchObject([{ code: 1, handler: "throws-later", msg: DIED }]);
  const line = /"level":"fatal".*"error":"RangeError","at":"test\/receiver\/work\/hostile-handlers\.ts:\d+/;
  await until(printed, (text) => line.test(text));
  expect(printed()).not.toContain("2125550142");
});

test("handlers may print although nothing reads it any more", async () => {
  const unread: SupervisorOptions["fork"] = (path, args, given) => {
    const child = fork(path, args, { ...given, silent: true });
    child.stdout?.destroy();
    return child;
  };
  const { send, state, deaths } = await start({}, { fork: unread });
  for (let times = 0; times < 2; times += 1) await state(await send("lingers"), "done");
  expect(deaths()).toBe(0);
});

test("a handler that ignores its deadline fails its job, and the process gives the others back and ends", async () => {
  const { send, state, lines } = await start();
  const other = await send("waits");
  await state(other, "running");
  const id = await send("ignores-deadline");
  expect(await state(id, "waiting", 1)).toMatchObject({ lastError: expect.stringContaining("within 0.1 s") });
  await until(() => lines.length === 1);
  expect(lines).toMatchObject([{ code: 70, msg: DIED }]);
  // It was given back uncounted, so this is its first attempt again.
  expect(await state(other, "running")).toMatchObject({ attempts: 1 });
});

test("a job that ends its process during its last attempt is dead, and reported to onDead", async () => {
  const { send, state, printed } = await start({ MAX_ATTEMPTS: "1" });
  const id = await send("exits");
  expect(await state(id, "dead")).toMatchObject({ lastError: expect.stringContaining("process ended") });
  await until(printed, (text) => text.includes("exits died after 1 attempts"));
});

test("a change of a file starts another process; while a file is broken, events wait and the status says why", async () => {
  const folder = temporaryDirectory();
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  const file = join(folder, "handlers.ts");
  const source = readFileSync(new URL("./hostile-handlers.ts", import.meta.url), "utf8");
  const text = source.replaceAll("../../../", `${process.cwd()}/`);
  // TypeScript that Node.js alone cannot run.
  const write = (note: string, name = "type") =>
    writeFileSync(
      file,
      text.replace("services)} ", "services)} ${Note.One} ").replace("name: type", `name: ${name}`) +
        `enum Note { One = "${note}" }`,
    );
  write("first");
  const options = { handlersModule: pathToFileURL(file), watch: true };
  const { send, state, notes, supervisor, printed } = await start({}, options);
  await state(await send("works"), "done");
  writeFileSync(file, 'throw new Error("no answer from +12125550142");');
  await until(supervisor.status, (status) => status.state === "broken");
  expect(supervisor.status().problem).toMatch(/from \[redacted\] \(.*handlers\.ts:1:\d+/);
  await send("works");
  // A new handler gets the events that arrived while nothing could be handled.
  write("second", 'type + "-anew"');
  await until(notes, (texts) => texts.length === 2);
  expect(supervisor.status()).toEqual({ state: "working" });
  expect((await notes()).map((text) => text.split(" ")[1])).toEqual(["first", "second"]);
  expect(printed()).not.toContain("fatal");
});

test.for(["waits", "blocks"])(
  "a process whose parent was killed ends, also while a handler %s",
  async (type) => {
    const { file, send, state, supervisor } = await start();
    await supervisor.stop(0);
    const parent = fork(new URL("./supervising.ts", import.meta.url), [HOSTILE.href], {
      env: { ...process.env, DATABASE_URL: `sqlite:${file}` },
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const pid = await new Promise<number>((resolve) =>
      parent.once("message", (message) => resolve(Number(message))),
    );
    await state(await send(type), "running");
    expect(isAlive(pid)).toBe(true);
    parent.kill("SIGKILL");
    await until(() => !isAlive(pid));
  },
);

/** A supervisor of real processes, on a separate database. */
async function start(environment: Record<string, string> = {}, options: Partial<SupervisorOptions> = {}) {
  const file = join(temporaryDirectory(), "receiver.db");
  const own = { databaseFile: file, isWorker: false, onFatal: console.error };
  const store = await openStore({ ...own, clock: systemClock });
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { log, lines } = recordedLog("warn");
  let printed = "";
  let deaths = 0;
  let aheadMs = 0;
  const supervisor = startSupervisor({
    environment: () => ({ PATH, NODE_COMPILE_CACHE, DATABASE_URL: `sqlite:${file}`, ...environment }),
    handlersModule: HOSTILE,
    memoryMegabytes: Number(environment["HANDLER_MEMORY_MEGABYTES"] ?? 512),
    clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs },
    log,
    running: async () => {
      const events = await store.ledger.list({ state: "running" }, { limit: 10 });
      return events.flatMap(({ id, jobs }) => jobs.map(({ handler }) => ({ handler, id })));
    },
    onEnded: () => undefined,
    onDeath: () => (deaths += 1),
    fork: (path, args, given) => {
      const child = fork(path, args, { ...given, silent: true });
      for (const output of [child.stdout, child.stderr])
        output?.on("data", (text: Buffer) => (printed += text.toString()));
      return child;
    },
    ...options,
  });
  onTestFinished(async () => {
    await supervisor.stop(0);
    await store.close();
  });
  const state = async (id: string, wanted: InboxJob["state"], attempts = 0): Promise<InboxJob | undefined> =>
    until(
      async () => (await store.ledger.find(id))?.jobs[0],
      (job) => job?.state === wanted && job.attempts >= attempts,
    );
  return {
    file,
    supervisor,
    state,
    deaths: () => deaths,
    lines,
    printed: () => printed,
    /** Moves the supervisor's clock. */
    pass: (ms: number) => void (aheadMs += ms),
    send: async (type: string) => {
      const [id = ""] = await accept(store, documented(type));
      supervisor.wake();
      return id;
    },
    notes: async () => {
      const rows = await store.jobs.query("SELECT text FROM notes ORDER BY rowid");
      return rows.map(({ text }) => String(text));
    },
  };
}
