import { readFileSync } from "node:fs";
import module from "node:module";
import { Command } from "commander";
import { z } from "zod";
import { duration, json, state, type, wholeNumber } from "./operations/commands/arguments.ts";
import { start } from "./operations/commands/start.ts";
import { EXIT, processTerminal as terminal } from "./operations/commands/terminal.ts";
import { serverRoom } from "./engines/open.ts";
import { withConfig, withEngine } from "./operations/commands/with-engine.ts";

/** The version of the package that this file lies in: the kit's, or that of a fork. */
const { version } = z
  .object({ version: z.string().default("unknown") })
  .parse(JSON.parse(readFileSync(module.findPackageJSON(import.meta.url) ?? "", "utf8")));

const program = new Command("voice-agent-receiver")
  .description(
    "Receives the voice agent service's webhooks: stores each event before it answers, handles each once.",
  )
  .version(version)
  .showHelpAfterError("(--help shows every command)")
  .configureOutput({ writeErr: sayLines })
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT.usage));

program
  .command("start")
  .description("receive and handle events, until told to stop (also when no command is given)")
  .option("--watch", "load the handlers anew whenever one of their files changes")
  .option("--inspect-handlers [address]", "let a debugger stop in a handler, at 127.0.0.1:9229 unless given")
  .action(withConfig(async () => start));

const inbox = program.command("inbox").description("look into the inbox, and act on it");
inbox
  .command("list")
  .description("the newest events, one a line")
  .addOption(state())
  .addOption(type())
  .option("--handler <name>", "only events with a job of this handler, by that job's state")
  .option("--limit <events>", "how many", wholeNumber, 50)
  .addOption(json())
  .action(withEngine(async () => (await import("./operations/commands/inbox.ts")).listInbox));

inbox
  .command("show <event_id>")
  .description("all that is known of one event")
  .option("--body", "with its envelope, personal data included")
  .addOption(json())
  .action(withEngine(async () => (await import("./operations/commands/inbox.ts")).showEvent));

inbox
  .command("requeue [event_ids...]")
  .description("handle dead or ignored jobs again, or give a new handler earlier events")
  .addOption(state().choices(["dead", "ignored"]))
  .addOption(type())
  .option("--handler <name>", "only the jobs of this handler")
  .option("--since <duration>", "only events received in the last 30m, 12h, 7d …", duration)
  .addOption(json())
  .action(withEngine(async () => (await import("./operations/commands/inbox.ts")).requeueEvents));

inbox
  .command("run <event_id>")
  .description(
    "make one attempt of a handler at an event, here and now; a dead or ignored job is requeued first",
  )
  .option("--handler <name>", "which of the handlers that want it")
  .option(
    "--dry-run",
    "leave the inbox as it is, and run on an empty database; what the handler calls is called",
  )
  .option("--inspect [address]", "wait for a debugger first, at 127.0.0.1:9229 unless given")
  .addOption(json())
  .action(withEngine(async () => (await import("./operations/commands/inbox-run.ts")).runJob));

inbox
  .command("export")
  .description("envelopes as JSON Lines, oldest first, for the simulator's replay")
  .addOption(state())
  .addOption(type())
  .option("--since <duration>", "only those received in the last 30m, 12h, 7d …", duration)
  .option("--include-personal-data", "with phone numbers, names and texts, which are redacted otherwise")
  .action(withEngine(async () => (await import("./operations/commands/inbox.ts")).exportEvents));

inbox
  .command("prune")
  .description("delete now what RETENTION_DAYS and ID_RETENTION_DAYS have passed")
  .addOption(json())
  .action(withEngine(async () => (await import("./operations/commands/inbox.ts")).pruneInbox));

inbox
  .command("stats")
  .description("how many events are in each state")
  .addOption(json())
  .action(withEngine(async () => (await import("./operations/commands/inbox.ts")).inboxStatistics));

program
  .command("reconcile")
  .description("read calls and voicemails from the REST API and enqueue what no event brought")
  .option("--since <duration>", "how far back: 30m, 12h, 7d …", duration, duration("7d"))
  .option("--dry-run", "only say what would be enqueued")
  .addOption(json())
  .action(withEngine(async () => (await import("./operations/commands/reconcile.ts")).runReconcile));

program
  .command("doctor")
  .description("check secrets, clock, API key, database and disk")
  .option("--verbose", "also what is well")
  .addOption(json())
  .action(withConfig(async () => (await import("./operations/commands/care.ts")).doctor));

program
  .command("health")
  .description("whether the receiver that runs here is ready, for the health checks of containers")
  .action(
    withConfig(async () => (await import("./operations/commands/health.ts")).health, { needsSecret: false }),
  );

program
  .command("backup <directory>")
  .description("copy the database while it is in use")
  .action(withEngine(async () => (await import("./operations/commands/care.ts")).backup));

(await serverRoom())?.addCommands(program);

program
  .command("recover")
  .description("begin a new work file where it is lost and there is no backup")
  .option("--handle-again", "handle every stored event once more")
  .option("--consider-handled", "handle none of the stored events again")
  .action(
    withConfig(async () => (await import("./operations/commands/care.ts")).recover, { needsSecret: false }),
  );

// Not commander's default command, which would take a misspelt command for its argument, and suggest nothing.
const [, , ...words] = process.argv;
const withoutCommand = words.every((word) => /^--(?:inspect-handlers|watch$)/.test(word));
for (const stream of [process.stdout, process.stderr]) stream.on("error", endWithTheReader);
try {
  await program.parseAsync(withoutCommand ? ["start", ...words] : words, { from: "user" });
} catch (error) {
  terminal.complain("This is a bug, please report it:");
  sayLines(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = EXIT.couldNotRun;
}

/** Says a text of several lines, of which each becomes printable by itself. */
function sayLines(text: string): void {
  for (const line of text.trimEnd().split("\n")) terminal.say(line);
}

/** `… | head` closes our output when it has seen enough: that ends a command, and is no failure. */
function endWithTheReader(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}
