import { registerHooks } from "node:module";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { interruptible } from "../../../simulator/commands/interrupt.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { run } from "./in-process.ts";

/** All commands, as processes that get a terminal's signals: test/e2e/interrupt.long.ts. */
afterEach(() => {
  vi.restoreAllMocks();
});

test.each([
  ["clock", "run"],
  ["trigger", "call.completed"],
])("Ctrl-C ends %s %s at once, and says where to see the simulator's progress", async (...words) => {
  const silent = await startEndpoint(() => process.emit("SIGINT"));
  const { origin } = new URL(silent.url);
  const { code, out, err } = await run(...words, "--simulator", origin);
  expect({ code, out }).toEqual({ code: 3, out: "" });
  expect(err).toMatch(/^Interrupted: the simulator continues\. See its progress: .* clock /);
});

test("Ctrl-C ends a replay through a simulator that does not answer, and prints its progress", async () => {
  const silent = await startEndpoint(() => process.emit("SIGINT"));
  const { code, err } = await run("replay", "call.completed", "--simulator", new URL(silent.url).origin);
  expect(code).toBe(3);
  expect(err).toContain("Stopped after 0 of 1: a replay with --resume FILE continues where it stopped.");
});

test("a second Ctrl-C ends the process, but the first one forwarded by npm does not", async () => {
  const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
  const now = vi.spyOn(performance, "now");
  const listeners = (["SIGINT", "SIGTERM"] as const).map((name) => process.listenerCount(name));
  const ended = interruptible(async (signal) => {
    now.mockReturnValue(1_000);
    process.emit("SIGINT");
    expect(signal.aborted).toBe(true);
    now.mockReturnValue(1_099);
    process.emit("SIGINT");
    expect(exit).not.toHaveBeenCalled();
    now.mockReturnValue(1_100);
    process.emit("SIGINT");
    expect(exit).toHaveBeenCalledExactlyOnceWith(130);
  });
  onTestFinished(() => void process.removeAllListeners("SIGINT"));
  await ended;
  expect((["SIGINT", "SIGTERM"] as const).map((name) => process.listenerCount(name))).toEqual(listeners);
});

test("mcp says in one line what to install if the SDK is missing", async () => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.includes("@modelcontextprotocol")) return next(specifier, context);
      throw Object.assign(new Error(`Cannot find package ${specifier}`), { code: "ERR_MODULE_NOT_FOUND" });
    },
  });
  onTestFinished(() => hooks.deregister());
  const { code, out, err } = await run("mcp");
  expect({ code, out }).toEqual({ code: 3, out: "" });
  expect(err).toMatch(/^mcp needs the package .*: npm install @modelcontextprotocol\/sdk@\d+\.\d+\.\d+\n$/);
});
