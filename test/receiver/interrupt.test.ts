import { expect, onTestFinished, test, vi } from "vitest";
import { interruptible, stopWhenTold } from "../../receiver/operations/commands/interrupt.ts";

/** What signals and errors do to a command, and to a receiver. The process is not ended here, but says how it would be. */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"] as const;
const EVENTS = [...SIGNALS, "uncaughtException", "unhandledRejection"] as const;

function watchProcess() {
  const before = new Map(EVENTS.map((event) => [event, new Set(process.rawListeners(event))]));
  const ours = (event: string) =>
    process
      .rawListeners(event)
      .filter((listener) => before.get(event as (typeof EVENTS)[number])?.has(listener) !== true);
  const exits: unknown[] = [];
  const exit = vi.spyOn(process, "exit").mockImplementation((code) => exits.push(code) as never);
  onTestFinished(() => {
    exit.mockRestore();
    for (const event of EVENTS)
      for (const listener of ours(event)) process.off(event, listener as () => void);
  });
  /** As the process would say it, to nobody but what is tested. */
  const say = (event: (typeof EVENTS)[number], what: unknown = event): void => {
    for (const listener of ours(event)) Reflect.apply(listener, process, [what]);
  };
  const listening = (): string[] => EVENTS.filter((event) => ours(event).length > 0);
  return { say, exits, listening };
}

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s ends a command at once, after it has said how far it is",
  async (signal) => {
    const { say, exits, listening } = watchProcess();
    const said: unknown[] = [];
    const work = Promise.withResolvers<string>();
    const ended = interruptible(
      () => void said.push([...exits]),
      async () => work.promise,
    );
    expect(listening()).toEqual(["SIGINT", "SIGTERM"]);
    say(signal);
    expect({ said, exits }).toEqual({ said: [[]], exits: [3] });
    work.resolve("its end");
    expect(await ended).toBe("its end");
    expect(listening()).toEqual([]);
  },
);

test("a command that fails leaves signals to Node.js as well", async () => {
  const { listening } = watchProcess();
  const failed = interruptible(
    () => expect.unreachable(),
    async () => Promise.reject(new Error("no")),
  );
  await expect(failed).rejects.toThrow("no");
  expect(listening()).toEqual([]);
});

test.each(EVENTS)(
  "%s stops a receiver once, and its process ends with what the stop answers",
  async (event) => {
    const { say, exits, listening } = watchProcess();
    const stops: object[] = [];
    const stopped = Promise.withResolvers<number>();
    const leave = stopWhenTold(async (why) => {
      stops.push(why);
      return stopped.promise;
    });
    expect(listening()).toEqual(EVENTS);
    const error = new Error("a bug");
    const isError = event === "uncaughtException" || event === "unhandledRejection";
    say(event, isError ? error : event);
    for (const signal of SIGNALS) say(signal);
    expect({ stops, exits }).toEqual({ stops: [isError ? { err: error } : { signal: event }], exits: [] });
    stopped.resolve(7);
    await new Promise(setImmediate);
    expect(exits).toEqual([7]);
    leave();
    expect(listening()).toEqual([]);
  },
);

test.each([
  [99, []],
  [100, [130]],
])("a second Ctrl-C after %i ms ends it at once: %j", (ms, expected) => {
  const { say, exits } = watchProcess();
  let nowMs = 5_000;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  stopWhenTold(async () => new Promise(() => undefined));
  say("SIGTERM");
  nowMs += ms;
  for (const signal of SIGNALS.filter((one) => one !== "SIGINT")) say(signal);
  expect(exits).toEqual([]);
  say("SIGINT");
  expect(exits).toEqual(expected);
});

test.each(["uncaughtException", "unhandledRejection"] as const)(
  "a stop that meets %s, or fails, ends the process as one that something is wrong with",
  async (event) => {
    const { say, exits } = watchProcess();
    const stopping = Promise.withResolvers<number>();
    stopWhenTold(async () => stopping.promise);
    say("SIGTERM");
    say(event, new Error("another"));
    expect(exits).toEqual([1]);
    stopping.reject(new Error("could not stop"));
    await new Promise(setImmediate);
    expect(new Set(exits.splice(1))).toEqual(new Set([1]));
  },
);
