import { Command, CommanderError } from "commander";
import { vi } from "vitest";
import { COMMANDS } from "../../simulator/commands/catalogue.ts";

/** Parses the arguments of one of our programs with its own parser, and returns the error. Runs nothing. */
export type Parser = (words: readonly string[]) => Promise<string | undefined>;

/** Words as `voice-agent-simulator` takes them. */
export const parseSimulator: Parser = async ([name = "", ...words]) => {
  if (name.startsWith("--")) return ["--help", "--version"].includes(name) ? undefined : `no option ${name}`;
  const command = COMMANDS.find((one) => one.name === name);
  return command === undefined ? `no command ${name}` : parse(await command.load(), words);
};

/** Words as `voice-agent-receiver` takes them. */
export const parseReceiver: Parser = async (words) => {
  const withoutCommand = words.every((word) => word === "--watch");
  return parse(await receiverProgram(), withoutCommand ? ["start", ...words] : words);
};

let receiver: Promise<Command> | undefined;

/** The receiver's program parses its arguments when it is loaded; this prevents it. */
async function receiverProgram(): Promise<Command> {
  return (receiver ??= (async () => {
    const spy = vi.spyOn(Command.prototype, "parseAsync").mockImplementation(async () => new Command());
    // Another file of this worker may have loaded it.
    vi.resetModules();
    await import("../../receiver/main.ts");
    const [program] = spy.mock.contexts;
    spy.mockRestore();
    if (!(program instanceof Command)) throw new Error("receiver/main.ts has parsed nothing.");
    return program;
  })());
}

async function parse(command: Command, words: readonly string[]): Promise<string | undefined> {
  for (const one of withSubcommands(command)) {
    one.exitOverride().configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    if (one.commands.length === 0) one.action(() => undefined);
  }
  try {
    await command.parseAsync(words, { from: "user" });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? undefined : error.message;
    // Values that an option refuses in its own words.
    return error instanceof Error ? error.message : String(error);
  }
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}
