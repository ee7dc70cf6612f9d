import { expect, onTestFinished, test, vi } from "vitest";
import { printLiveLog } from "../../../simulator/commands/live-log.ts";
import { createOutput } from "../../../simulator/commands/output.ts";
import { emitOne, nextEntry, openSimulator, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

test("an attempt is logged with the address to which it was sent, even if the endpoint's has changed", async () => {
  const { promise, resolve } = Promise.withResolvers<{ outcome: { status: number }; durationMs: number }>();
  const simulator = openSimulator({ clock: "manual", send: () => promise });
  const lines: string[] = [];
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const { id } = register(simulator, "http://localhost:1/before");
  printLiveLog(simulator, createOutput({}));
  const begun = nextEntry(simulator, ({ kind }) => kind === "attempt.started");
  emitOne(simulator);
  await begun;
  simulator.endpoints.change(id, { url: "http://localhost:1/after" });
  resolve({ outcome: { status: 200 }, durationMs: 1 });
  await simulator.settled();
  expect(lines.find((line) => line.includes("<--"))).toContain("[200] POST http://localhost:1/before [evt_");
});

/** Every line that is printed while `act` runs. */
async function linesOf(json: boolean, outcomes: (number | "timeout")[]): Promise<string[]> {
  const wall = createVirtualWall(Date.UTC(2026, 0, 31, 12));
  const send = () => {
    const outcome = outcomes.shift() ?? 200;
    const durationMs = 10 * outcomes.length;
    return Promise.resolve(
      outcome === "timeout"
        ? { outcome: { error: "timeout" as const }, durationMs }
        : { outcome: { status: outcome }, durationMs },
    );
  };
  const simulator = openSimulator({ clock: "manual", wall, send });
  const lines: string[] = [];
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  register(simulator, "http://localhost:1/in");
  const stop = printLiveLog(simulator, createOutput({ json }));
  emitOne(simulator);
  await simulator.clock.run();
  stop();
  emitOne(simulator, "order.created");
  await simulator.settled();
  spy.mockRestore();
  return lines;
}

test.each<[(number | "timeout")[], string[]]>([
  [[204], ["[204] attempt 1, 0 ms"]],
  [
    [500, "timeout", 200],
    [
      "[500] attempt 1, 20 ms; next at 2026-01-31 12:01:00",
      "[timeout] attempt 2, 10 ms; next at 2026-01-31 12:06:00",
      "[200] attempt 3, 0 ms",
    ],
  ],
  [
    [500, 500, 500, 500, 500, 503],
    [
      "[500] attempt 1, 50 ms; next at 2026-01-31 12:01:00",
      "[500] attempt 2, 40 ms; next at 2026-01-31 12:06:00",
      "[500] attempt 3, 30 ms; next at 2026-01-31 12:36:00",
      "[500] attempt 4, 20 ms; next at 2026-01-31 14:36:00",
      "[500] attempt 5, 10 ms; next at 2026-02-01 02:36:00",
      "[503] attempt 6, 0 ms; dead, no attempt is left",
    ],
  ],
])(
  "each attempt is a line with what follows from it, until the log is stopped: %j",
  async (outcomes, expected) => {
    const [event = "", ...attempts] = await linesOf(false, [...outcomes]);
    const [, id] = /^\d\d:\d\d:\d\d {2}--> {2}call\.completed \[(evt_[0-9a-f]{32})\]\n$/.exec(event) ?? [];
    expect(id).toBeDefined();
    expect(attempts.map((line) => line.replace(/^\d\d:\d\d:\d\d {2}<-- {2}/, ""))).toEqual(
      expected.map((line) => `${line.replace(" attempt", ` POST http://localhost:1/in [${id}] attempt`)}\n`),
    );
    const json = (await linesOf(true, [...outcomes])).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject(
      expected.map((line, index) => ({
        object: "delivery",
        attempt: index + 1,
        attempts: { length: index + 1 },
        state: /dead/.test(line) ? "dead" : /next/.test(line) ? "attempting" : "delivered",
      })),
    );
  },
);
