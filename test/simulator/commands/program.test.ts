import type { Command } from "commander";
import { expect, onTestFinished, test, vi } from "vitest";
import { COMMANDS } from "../../../simulator/commands/catalogue.ts";
import { run } from "./in-process.ts";

/** A port on which nothing listens: 1 belongs to tcpmux, which is not in use. */
const NOBODY = "http://127.0.0.1:1";

test("--help names every command and exits 0", async () => {
  const { code, out } = await run("--help");
  expect(code).toBe(0);
  for (const { name, summary } of COMMANDS) {
    expect(out).toContain(`  ${name}`);
    expect(out).toContain(summary.split(" ").slice(0, 4).join(" "));
  }
});

test("--version prints the version", async () => {
  expect(await run("--version")).toMatchObject({ code: 0, out: "0.1.0\n" });
});

test("no command prints the help and is wrong usage", async () => {
  const { code, err } = await run();
  expect(code).toBe(2);
  expect(err).toContain("Commands:");
});

test.each([
  [["triger", "call.completed"], "unknown command 'triger'", "(Did you mean trigger?)"],
  [["deliveries", "lst"], "unknown command 'lst'", 'Did you mean "list"?'],
  [["clock", "--jsn"], "unknown option '--jsn'", "(Did you mean --json?)"],
  [["serve", "--clamp"], "unknown option '--clamp'", "(--help lists"],
])("%j is wrong usage, with a suggestion", async (args, message, suggestion) => {
  const { code, out, err } = await run(...args);
  expect(code).toBe(2);
  expect(out).toBe("");
  expect(err).toContain(message);
  expect(err).toContain(suggestion);
});

test("every command takes --json", async () => {
  for (const { load } of COMMANDS) {
    const leaves: Command[] = [];
    collectLeaves(await load(), leaves);
    for (const leaf of leaves) {
      expect(`${leaf.name()} ${leaf.options.map(({ long }) => long).join(" ")}`).toContain("--json");
    }
  }
});

test.each([
  ["trigger", "call.completed"],
  ["replay", "call.completed"],
  ["endpoints"],
  ["endpoints", "add", "http://localhost:3000/webhooks"],
  ["events"],
  ["deliveries"],
  ["clock"],
  ["readings", "show"],
])("%s %s without a simulator could not run, and says what to do", async (...args) => {
  const { code, out, err } = await run(...args, "--simulator", NOBODY);
  expect(code).toBe(3);
  expect(out).toBe("");
  expect(err).toBe(
    `No simulator answers at ${NOBODY} (connection refused): start one with voice-agent-simulator serve, or name yours with --simulator.\n`,
  );
});

test("an address that is not a URL is wrong usage", async () => {
  const { code, err } = await run("events", "--simulator", "localhost:4010");
  expect(code).toBe(2);
  expect(err).toContain("write it in full, such as http://127.0.0.1:4010");
});

function collectLeaves(command: Command, leaves: Command[]): void {
  if (command.commands.length === 0) leaves.push(command);
  for (const child of command.commands) collectLeaves(child, leaves);
}

test("a bug of ours ends a command with one line and exit code 3, not with a stack", async () => {
  const readings = COMMANDS.find(({ name }) => name === "readings");
  if (readings === undefined) throw new Error("there is no command readings");
  const planted = vi.spyOn(readings, "load").mockRejectedValue(new TypeError("oops\n::error::x"));
  onTestFinished(() => planted.mockRestore());

  const { code, out, err } = await run("readings");
  expect({ code, out }).toEqual({ code: 3, out: "" });
  expect(err).toMatch(
    /^This is a bug in voice-agent-simulator, please report it: oops\\n::error::x \(program\.test\.ts:\d+\)\n$/,
  );
});
