import { InvalidArgumentError, Option, type Command } from "commander";
import { CLOCK_MODES, type ClockMode } from "../domain/clock.ts";
import { DEFAULT_CONCURRENCY } from "../domain/dispatcher.ts";
import { parseReadings } from "../domain/readings.ts";
import { DEFAULT_RETENTION } from "../domain/retention.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { SimulatorOptions } from "../service/compose.ts";
import { orUsageError } from "./command-error.ts";
import { scenariosOf } from "./scenario-files.ts";
import { collect, faultOption, faultsOf, wholeNumber } from "./option-values.ts";

/** The options of `serve`, which `dev` takes too, as commander reads them. */
export type ServeFlags = {
  port: number;
  host: string;
  token?: string;
  data?: string;
  seed?: number;
  clock: ClockMode;
  calls?: number;
  traffic: number;
  allowHost: string[];
  scenario: string[];
  fault: string[];
  keep: number;
  concurrency: number;
  reading: string[];
  json?: boolean;
};

const SHORTEST_TOKEN_CHARACTERS = 16;
const LONGEST_TOKEN_CHARACTERS = 256;
const MOST_KEPT_DELIVERIES = 10_000_000;

export function addServeOptions(command: Command, defaults: { clock: ClockMode }): Command {
  return command
    .option(
      "--port <number>",
      "port of the service; 0 takes any free one",
      wholeNumber(...OPTION_BOUNDS.port),
      4010,
    )
    .option("--host <address>", "address to bind to; wider than loopback needs the token", "127.0.0.1")
    .option(
      "--token <token>",
      "token for the control API when bound wider than loopback, 16 characters or more; generated when absent",
      accessToken,
    )
    .option("--data <file>", "keep the state in this file; otherwise it ends with the process")
    .option("--seed <number>", "same seed, same ids and data", wholeNumber(...OPTION_BOUNDS.seed))
    .addOption(
      new Option(
        "--clock <mode>",
        "how schedule time runs; skip jumps to what is due next, manual waits for `clock advance`",
      )
        .choices(CLOCK_MODES)
        .default(defaults.clock),
    )
    .option("--calls <number>", "calls in the generated history", wholeNumber(...OPTION_BOUNDS.calls))
    .option("--traffic <per-minute>", "let calls come in by themselves, so many a minute", trafficRate, 0)
    .option("--scenario <file>", "a scenario of your own, for trigger (repeatable)", collect, [])
    .option(
      "--allow-host <host>",
      "also accept endpoints on this host, over http too (repeatable)",
      collect,
      [],
    )
    .addOption(faultOption())
    .option(
      "--concurrency <number>",
      "requests under way to one endpoint at a time",
      wholeNumber(...OPTION_BOUNDS.concurrency),
      DEFAULT_CONCURRENCY,
    )
    .option(
      "--reading <name=choice>",
      "how to read an open point of the specification (repeatable); `readings` lists them",
      collect,
      [],
    )
    .option(
      "--keep <deliveries>",
      "deliveries to keep, 1 GB at most; the oldest finished ones go first",
      wholeNumber(100, MOST_KEPT_DELIVERIES),
      DEFAULT_RETENTION.deliveries,
    )
    .option("--json", "print JSON lines");
}

export function simulatorOptions(flags: ServeFlags): SimulatorOptions {
  return {
    clock: flags.clock,
    readings: orUsageError(parseReadings(flags.reading)).readings,
    faults: faultsOf(flags.fault),
    allowedHosts: flags.allowHost,
    concurrency: flags.concurrency,
    scenarios: scenariosOf(flags.scenario),
    retention: { deliveries: flags.keep },
    dataFile: flags.data,
    seed: flags.seed,
    calls: flags.calls,
  };
}

/** A token too long to be guessed; refused if empty, as from an unset variable of the shell. */
function accessToken(text: string): string {
  const isLongEnough = text.length >= SHORTEST_TOKEN_CHARACTERS && text.length <= LONGEST_TOKEN_CHARACTERS;
  if (isLongEnough && /^[\x21-\x7e]+$/.test(text)) return text;
  throw new InvalidArgumentError(
    text === ""
      ? "it is empty (an unset variable?): give 16 characters or more, or leave --token out to get one."
      : "it has 16 to 256 characters, without spaces: leave --token out to get a generated one.",
  );
}

function trafficRate(text: string): number {
  return wholeNumber(...OPTION_BOUNDS.traffic)(text.replace(/\/min$/, ""));
}
