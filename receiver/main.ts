#!/usr/bin/env node
import "../shared/node-version.ts";
import { Command } from "commander";
import { start } from "./commands/start.ts";
import { processTerminal } from "./commands/terminal.ts";
import { loadConfig, type Config } from "./config.ts";

const EXIT_CONFIGURATION = 1;
const EXIT_USAGE = 2;

const program = new Command("voice-agent-receiver")
  .description(
    "Receives the voice agent service's webhooks: stores each event before it answers, handles each once.",
  )
  .showHelpAfterError("(--help shows every command)")
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));

program
  .command("start")
  .description("receive and handle events, until told to stop (the default)")
  .action(run(async (config) => start(config, processTerminal)));

// Not as a default command: that one would take a misspelt command for its argument, and nobody would be asked what
// they meant.
const [, , ...words] = process.argv;
await program.parseAsync(words.length === 0 ? ["start"] : words, { from: "user" });

/** Reads the configuration for a command, runs it, and ends the process with its exit code unless it goes on. */
function run<Arguments extends unknown[]>(
  command: (config: Config, ...rest: Arguments) => Promise<number | undefined>,
): (...rest: Arguments) => Promise<void> {
  return async (...rest) => {
    loadEnvFile();
    const loaded = loadConfig(process.env);
    if (!loaded.ok) {
      for (const problem of loaded.problems) processTerminal.complain(problem);
      process.exitCode = EXIT_CONFIGURATION;
      return;
    }
    const exitCode = await command(loaded.config, ...rest);
    if (exitCode !== undefined) process.exitCode = exitCode;
  };
}

function loadEnvFile(): void {
  try {
    // What the environment has set already counts more.
    process.loadEnvFile(".env");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
