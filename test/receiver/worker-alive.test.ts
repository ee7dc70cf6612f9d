import { ChildProcess, fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openEngine } from "../../receiver/engines/open.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { createMetrics } from "../../receiver/operations/metrics.ts";
import { childMessageSchema } from "../../receiver/work/messages.ts";
import { startSupervisor } from "../../receiver/work/supervisor.ts";
import { accept, newEvent } from "./engine-suite/harness.ts";
import { standingClock } from "./helpers/clock.ts";
import { idOf, newBody } from "./helpers/events.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

/** More than all else that a process of handlers holds. */
const HELD_BYTES = 256 * 1_048_576;

/** A process of handlers that does nothing but what it is told to say. */
function standIn(): ChildProcess & { dies: () => void } {
  const child = Object.assign(new ChildProcess(), {
    pid: 1,
    exitCode: null,
    signalCode: null,
    connected: true,
  });
  return Object.assign(child, {
    send: () => true,
    kill: () => true,
    dies: () => {
      Object.assign(child, { exitCode: 1, connected: false });
      child.emit("exit", 1, null);
      child.emit("close", 1, null);
    },
  });
}

test("what a handlers' process has done until its very end is told before it ends, with the memory of its buffers", async () => {
  const folder = temporaryDirectory();
  const databaseFile = join(folder, "receiver.db");
  const engine = await openEngine({ databaseFile, clock: systemClock });
  onTestFinished(engine.close);
  // Its handler ends once there is a file, which comes when it is being stopped.
  const [module, go] = [join(folder, "handlers.mjs"), join(folder, "go")];
  const library = new URL("../../receiver/work/handler.ts", import.meta.url).href;
  const imported = ["prices.mjs", "node_modules/theirs.mjs"];
  writeFileSync(
    module,
    `import { existsSync } from "node:fs";
    import { setTimeout } from "node:timers/promises";
    ${imported.map((name) => `import ${JSON.stringify(`./${name}`)};`).join(" ")}
    import { defineHandler } from ${JSON.stringify(library)};
    export const held = Buffer.alloc(${String(HELD_BYTES)});
    const handle = async () => { while (!existsSync(${JSON.stringify(go)})) await setTimeout(1); };
    export const handlers = [defineHandler({ name: "slow", type: "*", handle })];`,
  );
  mkdirSync(join(folder, "node_modules"));
  for (const name of imported) writeFileSync(join(folder, name), "");
  const ended: object[] = [];
  const files: string[] = [];
  const told: number[] = [];
  const supervisor = startSupervisor({
    environment: { ...process.env, DATABASE_URL: `sqlite:${databaseFile}`, LOG_LEVEL: "silent" },
    handlersModule: pathToFileURL(module),
    memoryMegabytes: 512,
    clock: systemClock,
    log: createLog({ level: "silent" }),
    onEnded: (attempts) => void ended.push(...attempts),
    onDeath: () => undefined,
    onFiles: (loaded) => void files.push(...loaded.filter((file) => file.startsWith(folder))),
    fork: (...given) => {
      const child = fork(...given);
      child.on("message", (message) => {
        const said = childMessageSchema.parse(message);
        if (said.kind === "alive") told.push(said.memoryBytes);
      });
      return child;
    },
  });
  const body = newBody();
  await accept(engine, [newEvent({ id: idOf(body), body })]);
  await until(
    async () => (await engine.ledger.find(idOf(body)))?.state,
    (state) => state === "claimed",
  );
  const stopped = supervisor.stop(10_000);
  writeFileSync(go, "");
  await stopped;
  expect(await engine.ledger.find(idOf(body))).toMatchObject({ state: "done" });
  // One's own that came with them, for whoever watches.
  expect(files.toSorted()).toEqual([module, join(folder, "prices.mjs")]);
  expect(told.at(-1)).toBeGreaterThan(HELD_BYTES);
  expect(ended).toEqual([
    { handler: "slow", type: "call.completed", outcome: "done", durationMs: expect.any(Number) },
  ]);
});

test("by its metric a worker is up from its first word on, and down between its death and that of the next", async () => {
  const clock = standingClock();
  const children: ReturnType<typeof standIn>[] = [];
  const supervisor = startSupervisor({
    environment: {},
    memoryMegabytes: 512,
    clock,
    log: createLog({ level: "silent" }),
    onEnded: () => undefined,
    onDeath: () => undefined,
    fork: () => {
      const child = standIn();
      children.push(child);
      return child;
    },
  });
  const metrics = createMetrics({
    counts: () => Promise.reject(new Error("x")),
    workerAlive: supervisor.alive,
  });
  const isUp = async () => /^receiver_worker_up (\d)$/m.exec((await metrics.text()).body)?.[1];
  const starts = (): void => {
    children.at(-1)?.emit("message", { kind: "ready", files: [] });
    children.at(-1)?.emit("message", { kind: "started" });
  };
  const seen: Record<string, string | undefined> = { "before its first word": await isUp() };
  starts();
  seen["started"] = await isUp();
  await clock.pass(100);
  children.at(-1)?.dies();
  seen["dead"] = await isUp();
  await clock.pass(100);
  seen["being started again"] = await isUp();
  starts();
  seen["started again"] = await isUp();
  expect({ ...seen, processes: children.length }).toEqual({
    "before its first word": "0",
    started: "1",
    dead: "0",
    "being started again": "0",
    "started again": "1",
    processes: 2,
  });
  children.at(-1)?.dies();
  await supervisor.stop(0);
});
