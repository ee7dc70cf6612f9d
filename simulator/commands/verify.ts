import { randomBytes } from "node:crypto";
import { Command, InvalidArgumentError, Option } from "commander";
import type { EventType } from "../../shared/events.ts";
import { LEVELS } from "../verify/check.ts";
import type { Depth, Selection } from "../verify/catalogue.ts";
import { EXIT_CODES, FAIL_ON, type FailOn } from "../verify/report.ts";
import { CommandError, EXIT, orUsageError, usageError } from "./command-error.ts";
import { interruptible } from "./interrupt.ts";
import { collect, eventSelection, observeUrl, webUrl, wholeNumber } from "./option-values.ts";
import { createOutput } from "./output.ts";
import { secretOption } from "./secret-option.ts";
import { DEFAULT_URL, verifyTarget } from "./verify-target.ts";

type Flags = {
  url?: string;
  secret?: string;
  observe?: string;
  only: string[];
  skip: string[];
  events?: EventType[];
  level?: Depth;
  failOn: FailOn[];
  strict?: boolean;
  seed?: string;
  report: string[];
  readyTimeout: number;
  effectsWithin?: number;
  allowHost: string[];
  thorough?: boolean;
  list?: boolean;
  json?: boolean;
};

const LONGEST_READY_SECONDS = 600;

export default function verifyCommand(): Command {
  return new Command("verify")
    .description("judge a webhook receiver in any language: one that runs, or one that verify starts")
    .argument("[url-or-command...]", "the receiver's URL, or after --: the command that starts it")
    .option("--url <url>", `where the started receiver listens (${DEFAULT_URL})`, webUrl)
    .addOption(secretOption())
    .option(
      "--observe <url>",
      "an address that answers JSON with a number `handled` for the event {id}",
      observeUrl,
    )
    .option(
      "--only <checks>",
      "only these checks: groups, ids, or a beginning such as signature.stale*",
      list,
      [],
    )
    .option("--skip <checks>", "all but these checks", list, [])
    .option("--events <types>", "the types that the endpoint is registered for (all)", eventSelection)
    .addOption(
      new Option(
        "--level <level>",
        "must: no advice; advice: the default; production: also retries, drain, memory and log",
      ).choices([...LEVELS, "production"]),
    )
    .addOption(
      new Option(
        "--fail-on <what>",
        "advice or unverified: what also fails the run, besides failed must checks; several times",
      )
        .argParser(failOnValue)
        .default([]),
    )
    .option("--strict", "fail on advice and on what could not be judged")
    .option("--seed <seed>", "the same events as in the run that printed this seed")
    .option("--report <format[=file]>", "pretty, json, junit, markdown or github; several times", collect, [])
    .option(
      "--ready-timeout <seconds>",
      "how long it may take to listen, if verify starts it, and to answer other than 503",
      wholeNumber(1, LONGEST_READY_SECONDS),
      30,
    )
    .option(
      "--effects-within <seconds>",
      "how long it may take to handle an acknowledged event",
      wholeNumber(1, LONGEST_READY_SECONDS),
    )
    .option(
      "--thorough",
      "kill it dozens of times, send a duplicate after ten thousand other events; takes minutes",
    )
    .option("--allow-host <host>", "also judge a receiver on this host (repeatable)", collect, [])
    .option("--list", "print the checks and run nothing")
    .option("--json", "print the JSON report, or with --list the list as JSON")
    .addHelpText("after", HELP)
    .action(async (words: string[], flags: Flags) => {
      await interruptible(async (signal) => {
        process.exitCode = await verify(words, flags, signal);
        // Requests under way would keep the process alive, and their results are not needed.
        if (signal.aborted) process.exit();
      });
    });
}

const HELP = `
Examples:
  verify http://localhost:3000/webhooks --secret whsec_…
  verify --url http://localhost:3000/webhooks --observe 'http://localhost:3001/inbox/{id}' -- node server.js
  verify https://staging.example.com/webhooks --allow-host staging.example.com --events call.completed
  verify http://localhost:3000/webhooks --level must --report junit=verify.xml --report markdown=verify.md

Exit codes: 0 ok, 1 a check failed, 2 wrong usage, 3 could not run (nothing, or not all, was verified).`;

async function verify(words: string[], flags: Flags, signal: AbortSignal): Promise<number> {
  // Loaded only now, so that --help and a wrong option respond at once.
  const { selectChecks } = await import("../verify/catalogue.ts");
  const output = createOutput(flags);
  const events = someOf(flags.events);
  const selection: Selection = {
    only: someOf(flags.only),
    skip: flags.skip,
    level: flags.list === true ? (flags.level ?? "production") : flags.level,
    events,
  };
  const selected = orUsageError(selectChecks(selection));

  if (flags.list === true) {
    const rows = selected.checks.map(({ id, level, title, group, spec }) => {
      return { id, group, level, title, rule: spec.section };
    });
    output.value({ object: "list", data: rows });
    output.table(
      rows.map(({ id, group, level, title, rule }) => [
        id,
        level,
        `${title}${group === "production" ? " (with --level production)" : ""}`,
        rule,
      ]),
    );
    return EXIT.ok;
  }

  const target = verifyTarget(words, flags);
  const { parseReportTargets, unwritableTarget, writeReports } = await import("../verify/reports/targets.ts");
  const { targets } = orUsageError(parseReportTargets(flags.report, flags.json === true));
  const unwritable = unwritableTarget(targets);
  if (unwritable !== undefined) throw usageError(unwritable);

  for (const host of target.hostsBeyond) output.note(whatIsSent(host, selected.checks.length));
  const { verifyReceiver } = await import("../verify/verify-receiver.ts");
  const report = await verifyReceiver({
    ...target.receiver,
    allowHosts: flags.allowHost,
    checks: selected.checks,
    seed: flags.seed ?? randomBytes(4).toString("hex"),
    readyTimeoutMs: flags.readyTimeout * 1_000,
    failOn: flags.strict === true ? FAIL_ON : flags.failOn,
    now: Date.now,
    signal,
    events,
    observeUrl: flags.observe,
    thorough: flags.thorough === true,
    effectsWithinMs: flags.effectsWithin === undefined ? undefined : flags.effectsWithin * 1_000,
    onProgress: ({ done, total, title }) => output.progress(`${done}/${total}  ${title}`),
  });
  output.clearProgress();
  const unwritten = await writeReports(report, targets, output);
  if (unwritten.length > 0) throw new CommandError(unwritten.join("\n"));
  return EXIT_CODES[report.verdict];
}

function whatIsSent(host: string, checks: number): string {
  return (
    `Sending to ${host}: ${checks} checks with generated deliveries, honest, forged, stale and repeated, in bursts of some ` +
    "dozens at once, and requests that break off or hold connections open. Ctrl-C stops it."
  );
}

/** `advice`, `unverified`, or both with a comma. */
function failOnValue(value: string, previous: FailOn[]): FailOn[] {
  const words = list(value, []);
  const wrong = words.find((word) => !isFailOn(word));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`Give ${FAIL_ON.join(" or ")}, or both with a comma.`);
  return [...previous, ...words.filter(isFailOn)];
}

/** The given values, or undefined if none were given, which means all. */
function someOf<Item>(given: Item[] | undefined): Item[] | undefined {
  return given === undefined || given.length === 0 ? undefined : given;
}

function isFailOn(word: string): word is FailOn {
  return FAIL_ON.some((known) => known === word);
}

function list(value: string, previous: string[]): string[] {
  const patterns = value.split(",").map((pattern) => pattern.trim());
  return [...previous, ...patterns.filter((pattern) => pattern !== "")];
}
