import { Command, CommanderError, Help, type Option } from "commander";
import { printable } from "../../shared/text.ts";
import { ourCommand } from "../text/invocation.ts";
import { codeOf, describeBug, messageOf } from "../text/errors.ts";
import { VERSION } from "../processes/version.ts";
import { COMMANDS } from "./catalogue.ts";
import { CommandError, EXIT } from "./command-error.ts";

/** Runs the command that `argv` names and leaves its exit code in `process.exitCode`. */
export async function runCommands(argv: readonly string[]): Promise<void> {
  endWithTheReader();
  const program = new Command("voice-agent-simulator")
    .description("The voice agent service on your machine: REST API, dashboard, signed webhooks.")
    .version(VERSION)
    .showHelpAfterError("(--help lists what there is)")
    .addHelpText(
      "after",
      () => `\nStart here: ${ourCommand("dev -- COMMAND")}, with the command that starts your receiver.`,
    )
    .configureHelp({ optionDescription: withoutEmptyLists })
    .configureOutput({ writeErr: complain })
    .exitOverride();
  try {
    // Only the requested command is loaded: all of them together take seconds.
    for (const { name, summary, load } of COMMANDS) {
      const command = argv.includes(name) ? await load() : new Command(name);
      program.addCommand(inherit(command.summary(summary), program));
    }
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

function withoutEmptyLists(option: Option): string {
  return new Help().optionDescription(option).replace(" (default: [])", "");
}

/** `… | head` closes our output early: that ends the command without a failure. */
function endWithTheReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.off("error", onOutputError);
    stream.on("error", onOutputError);
  }
}

function onOutputError({ code, message }: NodeJS.ErrnoException): void {
  if (code === "EPIPE") process.exit(EXIT.ok);
  complain(`The output cannot be written: ${message}\n`);
  process.exit(EXIT.couldNotRun);
}

/** Copies the settings to subcommands: commander does so only for commands that it made itself. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
  return command;
}

function exitCodeOf(error: unknown): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.wrongUsage;
  if (error instanceof CommandError) {
    complain(`${error.message}\n`);
    return error.exitCode;
  }
  complain(`${unexpected(error)}\n`);
  return EXIT.couldNotRun;
}

/** Ends the program with one line after a bug of ours, without a stack. */
export function endUnexpectedly(error: unknown): void {
  complain(`${unexpected(error)}\n`);
  process.exit(EXIT.couldNotRun);
}

function unexpected(error: unknown): string {
  if (/^SQLITE_(?:CORRUPT|FULL|IOERR)/.test(codeOf(error)))
    return `The data file cannot be used (${messageOf(error)}): free space on its disk, or use another --data file.`;
  return printable(`This is a bug in voice-agent-simulator, please report it: ${describeBug(error)}`);
}

function complain(text: string): void {
  process.stderr.write(text.split("\n").map(printable).join("\n"));
}
