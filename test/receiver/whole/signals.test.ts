import { execFileSync, spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { start } from "../../../receiver/operations/commands/start.ts";
import { freePort } from "../../helpers/free-port.ts";
import { isAlive } from "../../helpers/is-alive.ts";
import { newBody, post, SECRET } from "../helpers/events.ts";
import { MAIN, runCommand, startProcess } from "../helpers/process.ts";
import { open, rawRequest } from "../helpers/raw.ts";
import { testConfig } from "../helpers/receiver.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { ALL } from "../../helpers/run/sizes.ts";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";

const database = (): string => `sqlite:${join(temporaryDirectory(), "receiver.db")}`;

const startWith = (environment: Record<string, string> = {}) =>
  startProcess({ environment: { DATABASE_URL: database(), ...environment } });

/** The environment of a receiver in which this code runs before its own. */
const preloaded = (source: string): Record<string, string> => ({
  DATABASE_URL: database(),
  // The handlers' process takes longer than all the rest, and gets no signal.
  RECEIVER_ROLE: ALL ? "all" : "ingest",
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}`,
});

/** Sends the next signal at the moment in which a listener is removed. */
const NEXT_SIGNAL_WHERE_NOBODY_LISTENS = `
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on("removeListener", (event) => {
      if (event === signal && process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });`;

/** The signal comes before the receiver listens and long before it says so. */
const SIGNAL_AS_IT_LISTENS = `
  import { Server } from "node:net";
  import { isMainThread } from "node:worker_threads";
  const { listen } = Server.prototype;
  Server.prototype.listen = function (...where) {
    if (isMainThread) process.kill(process.pid, "SIGTERM");
    return listen.apply(this, where);
  };`;

test.for(ALL ? (["SIGTERM", "SIGINT", "SIGHUP"] as const) : (["SIGTERM"] as const))(
  "from %s on, every further signal has a listener",
  async (signal) => {
    const receiver = await startWith(preloaded(NEXT_SIGNAL_WHERE_NOBODY_LISTENS));
    receiver.child.kill(signal);
    expect(await receiver.exited).toEqual({ code: 0, signal: null });
    // Its last line may arrive after its end.
    await until(() => receiver.lines.at(-1)?.includes('"msg":"stopped"') === true);
  },
);

/** A bug of our own, once the receiver has answered its first request. */
const BUG_AFTER_A_REQUEST = `
  import { Server } from "node:http";
  const { emit } = Server.prototype;
  Server.prototype.emit = function (event, ...rest) {
    if (event === "request") setTimeout(() => { throw new RangeError("out of our reach"); }, 1);
    return emit.call(this, event, ...rest);
  };`;

test("a bug stops it cleanly, with a log line that names it and a failing exit code", async () => {
  const receiver = await startWith(preloaded(BUG_AFTER_A_REQUEST));
  await fetch(new URL("/healthz", receiver.url)).catch(() => undefined);
  expect(await receiver.exited).toEqual({ code: 1, signal: null });
  await until(() => receiver.lines.at(-1)?.includes('"msg":"stopped"') === true);
  const logged = receiver.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(logged.filter(({ level }) => level === "fatal")).toEqual([
    expect.objectContaining({
      msg: "a bug: shutting down",
      err: expect.objectContaining({ type: "RangeError", message: "out of our reach" }),
    }),
  ]);
});

test("a signal during the start stops it cleanly, as soon as it has started", async () => {
  const { code, stdout, stderr } = await runCommand([], {
    SIGNING_SECRET: SECRET,
    PORT: "0",
    ADMIN_PORT: "0",
    ...preloaded(SIGNAL_AS_IT_LISTENS),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/"msg":"listening".*"msg":"stopped"\}\n$/s);
});

/** An app that prints. */
const PRINTS = `
  setInterval(() => console.log("printed"), 20).unref();
  process.stdout.once("error", () => process.stderr.write("unread"));`;

test("it continues when nothing reads its output any more", async () => {
  const receiver = await startWith(preloaded(PRINTS));
  receiver.child.stdout?.destroy();
  await until(() => receiver.errors.includes("unread"));
  expect((await fetch(new URL("/healthz", receiver.url))).status).toBe(200);
});

test("under npm it stops cleanly once the shell between them has ended, which forwards no signal", async () => {
  const own = { ...preloaded(""), SIGNING_SECRET: SECRET, PORT: "0", ADMIN_PORT: "0" };
  const shell = spawn("sh", ["-c", '"$@"; true', "sh", process.execPath, ...RUN_TYPESCRIPT, MAIN], {
    detached: true,
    env: { ...process.env, ...own, npm_lifecycle_event: "start" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void spawnSync("kill", ["-KILL", "--", `-${String(shell.pid)}`]));
  let log = "";
  shell.stdout.on("data", (text) => {
    log += String(text);
    if (log.includes('"listening"')) shell.kill("SIGKILL");
  });
  // Its output is the receiver's, too.
  await once(shell, "close");
  expect(log).toMatch(/"listening".*"msg":"stopped"\}\n$/s);
});

/** A receiver in this process, which only notes its exits. `tell` calls its own listeners. */
async function startHere(ownDatabase = database()) {
  const exit = vi.spyOn(process, "exit").mockImplementation((() => undefined) as never);
  const own = new EventEmitter();
  const listening = vi.spyOn(process, "on").mockImplementation((event, run) => (own.on(event, run), process));
  const port = String(await freePort());
  const environment = { RECEIVER_ROLE: "ingest", LOG_LEVEL: "silent", SHUTDOWN_TIMEOUT_SECONDS: "3" };
  const config = testConfig({ ...environment, DATABASE_URL: ownDatabase, PORT: port });
  await start({ config, environment: () => ({}) }, {});
  listening.mockRestore();
  const tell = (event: string, given: unknown = event) => own.emit(event, given);
  const exits = (): unknown[] => exit.mock.calls.map(([code]) => code);
  onTestFinished(async () => {
    if (!exits().includes(0)) tell("SIGTERM");
    await until(() => exits().includes(0));
    exit.mockRestore();
  });
  return { tell, exits, url: `http://127.0.0.1:${port}/webhooks` };
}

test("a second Ctrl-C ends it at once, and so does an error; not npm's repetition of the first, nor another signal", async () => {
  const { tell, exits, url } = await startHere();
  const socket = open(url);
  onTestFinished(() => void socket.destroy());
  socket.write(rawRequest(url, { body: newBody() }).subarray(0, -1));
  const { monotonicMs } = systemClock;
  let passedMs = 0;
  const clock = vi.spyOn(systemClock, "monotonicMs").mockImplementation(() => monotonicMs() + passedMs);
  onTestFinished(() => clock.mockRestore());
  for (const signal of ["SIGINT", "SIGINT", "SIGTERM"]) tell(signal);
  passedMs = 100;
  for (const signal of ["SIGTERM", "SIGHUP"]) tell(signal);
  expect(exits()).toEqual([]);
  tell("SIGINT");
  tell("uncaughtException", new Error("again"));
  expect(exits()).toEqual([130, 1]);
});

test("it answers nothing and ends with 1 once its database was moved", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const { exits, url } = await startHere(`sqlite:${file}`);
  expect((await post(url, newBody())).status).toBe(200);
  renameSync(file, `${file}-moved`);
  post(url, newBody()).catch(() => undefined);
  await until(() => exits().length > 0);
  expect(exits()).toEqual([1]);
});

const NO_FILE_LEFT = `
  import { Server } from "node:net";
  Server.prototype.listen = () => {
    throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  };`;

test("a start that may open too few files says so in a line", async () => {
  const { code, stderr } = await runCommand([], { SIGNING_SECRET: SECRET, ...preloaded(NO_FILE_LEFT) });
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/^.*raise `ulimit -n`.*\n$/) });
});

test.runIf(process.platform === "linux")("it stops cleanly even if it may open no more files", async () => {
  const receiver = await startWith(preloaded(""));
  execFileSync("prlimit", [`--pid=${String(receiver.child.pid)}`, "--nofile=4"]);
  receiver.child.kill("SIGTERM");
  expect(await receiver.exited).toEqual({ code: 0, signal: null });
});

/** A terminal sends its signals to the whole group of processes, and so does one that is closed. */
test.runIf(ALL && process.platform === "linux").each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "%s to all its processes stops it cleanly: the supervisor decides when handlers stop",
  async (signal) => {
    const receiver = await startWith();
    await until(
      async () => (await fetch(`${receiver.adminUrl}/metrics`)).text(),
      // The line of the help begins with the same words.
      (text) => text.includes("receiver_worker_up 1\n"),
    );
    // First to the handlers alone: they continue to work.
    const pid = String(receiver.child.pid);
    const handlers = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    process.kill(Number(handlers), signal);
    await post(receiver.url, newBody());
    await until(() => receiver.lines.join("\n").includes('"outcome":"done"'));
    process.kill(-receiver.child.pid!, signal);
    expect(await receiver.exited).toEqual({ code: 0, signal: null });
    expect(receiver.lines.filter((line) => line.includes("process died"))).toEqual([]);
  },
);

test.runIf(ALL)("it stops in time even if its log is no longer read", async () => {
  const receiver = await startWith({ SHUTDOWN_TIMEOUT_SECONDS: "1" });
  receiver.child.stdout?.pause();
  const refuse = async () => post(receiver.url, Buffer.from("{}"));
  // A log larger than the buffers of its pipe and reader.
  for (let line = 0; line < 1_600; line += 16) await Promise.all(Array.from({ length: 16 }, refuse));
  receiver.child.kill("SIGTERM");
  // It stops by itself, or the watchdog thread ends it.
  const signalledAtMs = performance.now();
  await receiver.exited;
  expect(performance.now() - signalledAtMs).toBeLessThan(10_000);
});

test.runIf(ALL && process.platform === "linux")(
  "it stops cleanly even if handlers don't stop: their process ends too",
  async () => {
    const receiver = await startWith({ SHUTDOWN_TIMEOUT_SECONDS: "4" });
    const pid = String(receiver.child.pid);
    const handlers = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
    // As a handler that blocks it does.
    process.kill(handlers, "SIGSTOP");
    receiver.child.kill("SIGTERM");
    expect(await receiver.exited).toEqual({ code: 0, signal: null });
    expect(isAlive(handlers)).toBe(false);
    expect(receiver.lines.at(-1)).toContain("stopped");
  },
);
