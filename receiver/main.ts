#!/usr/bin/env node
import { readFileSync } from "node:fs";
import module from "node:module";
import { Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import { EXIT, terminal, withConfig, withStore } from "./operations/commands/run.ts";
import { health, start } from "./operations/commands/start.ts";
import { EVENT_STATES } from "./store/ledger-port.ts";
import { databaseServer } from "./store/open.ts";

const inboxCommands = () => import("./operations/commands/inbox.ts");

/** The version of the package this file belongs to: the kit or a fork. */
const { version } = z
  .object({ version: z.string().default("unknown") })
  .parse(JSON.parse(readFileSync(module.findPackageJSON(import.meta.url) ?? "", "utf8")));

const program = new Command("voice-agent-receiver")
  .description(
    "Receives the voice agent service's webhooks: stores each event before it answers, handles each once.",
  )
  .version(version)
  .showHelpAfterError("(--help shows every command)")
  .addHelpText(
    "after",
    "\nSettings are environment variables, also from .env: SIGNING_SECRET is required. docs/operations.md",
  )
  .configureOutput({ writeErr: (text) => text.trimEnd().split("\n").forEach(terminal.say) })
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.ok : EXIT.usage));

const state = (): Option => new Option("--state <state>", "only events in this state").choices(EVENT_STATES);
const type = (): Option => new Option("--type <type>", "only events of this type, such as call.completed");
const since = (): Option =>
  new Option("--since <duration>", "only events of the last 30m, 12h, 7d …").argParser(seconds);

command(program, "start", "receive and handle events until stopped (the default command)")
  .option("--watch", "restart the handlers whenever one of their files changes")
  .action(withConfig(async () => start));

const inbox = program.command("inbox").description("read and change the inbox");
command(inbox, "list", "list the newest events, one a line")
  .addOption(state())
  .addOption(type())
  .option("--handler <name>", "only events with a job of this handler, by that job's state")
  .option("--cause <text>", "only dead jobs with this cause, as `stats` prints it")
  .option("--limit <events>", "how many", wholeNumber, 50)
  .action(withStore(async () => (await inboxCommands()).listInbox));
command(inbox, "show <event_id>", "show everything about one event")
  .option("--body", "include its envelope as received, with personal data")
  .action(withStore(async () => (await inboxCommands()).showEvent));
command(
  inbox,
  "requeue [event_ids...]",
  "handle dead or ignored jobs again, or give earlier events to a new handler",
)
  .addOption(state().choices(["dead", "ignored"]))
  .addOption(type())
  .option("--handler <name>", "only jobs of this handler")
  .addOption(since())
  .action(withStore(async () => (await inboxCommands()).requeueEvents));
command(inbox, "discard <event_ids...>", "end waiting or dead jobs as ignored")
  .requiredOption("--handler <name>", "the jobs of this handler")
  .requiredOption("--reason <text>", "kept with the job")
  .action(withStore(async () => (await inboxCommands()).discardEvents));
command(inbox, "export", "envelopes as JSON Lines, oldest first, for the simulator's replay")
  .addOption(state())
  .addOption(type())
  .addOption(since())
  .option("--include-personal-data", "as received, without redaction")
  .action(withStore(async () => (await inboxCommands()).exportEvents));
command(inbox, "prune", "delete now what is older than RETENTION_DAYS and ID_RETENTION_DAYS").action(
  withStore(async () => (await inboxCommands()).pruneInbox),
);
command(inbox, "stats", "count the jobs of each handler by state, and the dead ones by cause").action(
  withStore(async () => (await inboxCommands()).inboxStatistics),
);

command(program, "reconcile", "read calls and voicemails from the REST API and enqueue missing events")
  .addOption(since().default(seconds("7d"), "7d"))
  .option("--dry-run", "only print what would be enqueued")
  .action(withStore(async () => (await import("./operations/reconcile.ts")).runReconcile));
command(program, "doctor", "check the database, the disk, the handlers, the API key and the clock").action(
  withConfig(async () => (await import("./operations/doctor.ts")).doctor),
);
command(program, "health", "check the receiver that runs here, for health checks of containers").action(
  withConfig(async () => health, { needsSecret: false }),
);
command(program, "backup <file>", "copy the database to a new file while it is in use").action(
  withStore(async () => (await inboxCommands()).backup),
);

(await databaseServer())?.addCommands(program);

// Not commander's default command: it would take a misspelt command as its argument, and suggest nothing.
const words = process.argv.slice(2);
const given = words.every((word) => word === "--watch" || word === "--json") ? ["start", ...words] : words;
for (const stream of [process.stdout, process.stderr])
  stream.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    // The receiver continues, whatever becomes of what your app prints.
    if (given[0] === "start") return;
    // `… | head` closes our output when it has seen enough: that ends the command and is no failure.
    if (code === "EPIPE") process.exit(EXIT.ok);
    if (stream === process.stdout) terminal.complain(`cannot write the output: ${message}`);
    process.exit(EXIT.couldNotRun);
  });
try {
  await program.parseAsync(given, { from: "user" });
} catch (error) {
  terminal.complain("This is a bug, please report it:");
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  text.split("\n").forEach(terminal.say);
  process.exitCode = EXIT.couldNotRun;
}

function command(parent: Command, words: string, does: string): Command {
  return parent.command(words).description(does).option("--json", "print JSON");
}

function wholeNumber(text: string): number {
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number from 1 to 99999.");
}

/** Seconds of a duration such as 90s, 30m, 12h or 7d. */
function seconds(text: string): number {
  const [, amount, unit = ""] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? [];
  const size = { s: 1, m: 60, h: 3_600, d: 86_400 }[unit];
  if (size === undefined) throw new InvalidArgumentError("Give a duration such as 30m, 12h or 7d.");
  return Number(amount) * size;
}
