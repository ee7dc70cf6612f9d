import { expect, onTestFinished, test, vi } from "vitest";
import { printLiveLog } from "../../../simulator/commands/live-log.ts";
import { createOutput } from "../../../simulator/commands/output.ts";
import { emitOne, nextEntry, openSimulator, register } from "../../helpers/simulator.ts";

test("an attempt is logged with the address that it went to, which its endpoint may have no more", async () => {
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
