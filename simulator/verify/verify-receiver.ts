import type { EventType } from "../../shared/events.ts";
import { startReceiver } from "../processes/receiver-process.ts";
import { shellWord } from "../shell-words.ts";
import { type Baseline, markKnown } from "./baseline.ts";
import type { Check } from "./check.ts";
import { exploreCheck } from "./explore/explore.ts";
import { createObserver } from "../observer/observer.ts";
import { reachableCheck } from "./preflight.ts";
import { withoutUserInfo } from "./repeat.ts";
import { type FailOn, type Report, verdictOf } from "./report.ts";
import { runChecks, type RunOptions } from "./run.ts";

/** Where the simulator listens unless told otherwise: what a receiver is given for the REST API. */
const API_BASE_URL = "http://127.0.0.1:4010";
const API_KEY = "va_test_restaurant";

export type VerifyOptions = {
  url: string;
  secret: string;
  seed: string;
  checks: readonly Check[];
  /** The event types that the endpoint is registered for; all unless given. */
  events?: readonly EventType[];
  /** Program and arguments that start the receiver; without it, it runs already. */
  command?: string[];
  observeUrl?: string;
  /** How many random schedules to search. */
  explore?: number;
  baseline?: Baseline;
  readyTimeoutMs: number;
  /** What fails the run besides failed `must` checks. */
  failOn: readonly FailOn[];
  now: () => number;
  onProgress?: RunOptions["onProgress"];
};

/**
 * The whole conformance run on one receiver, started and ended by us where `command` is given. A receiver that does
 * not start, or cannot be reached, is a report too: nothing was verified.
 */
export async function verifyReceiver(options: VerifyOptions): Promise<Report> {
  const { url, secret, seed, command } = options;
  const checks =
    options.explore === undefined ? options.checks : [...options.checks, exploreCheck(options.explore)];
  const startedAt = new Date(options.now());
  const { port, protocol } = new URL(url);
  const started =
    command === undefined
      ? undefined
      : await startReceiver({
          command,
          url,
          readyTimeoutMs: options.readyTimeoutMs,
          env: {
            PORT: port === "" ? (protocol === "https:" ? "443" : "80") : port,
            SIGNING_SECRET: secret,
            API_BASE_URL,
            API_KEY,
          },
        });
  if (started?.ok === false) {
    const unreachable = {
      check: reachableCheck,
      outcome: "unverified" as const,
      explanation: started.message,
      exchanges: [],
      durationMs: 0,
    };
    return {
      url,
      seed,
      invocation: invocationOf(options),
      startedAt,
      durationMs: options.now() - startedAt.getTime(),
      verdict: "could_not_run",
      results: [unreachable],
      notRun: checks.length,
      receiverOutput: started.output,
    };
  }

  const receiver = started?.receiver;
  try {
    const report = await runChecks({
      url,
      secret,
      seed,
      checks,
      invocation: invocationOf(options),
      now: options.now,
      ...(options.events !== undefined && { events: options.events }),
      ...(options.observeUrl !== undefined && { observe: createObserver(options.observeUrl) }),
      ...(receiver !== undefined && { receiver }),
      ...(options.onProgress !== undefined && { onProgress: options.onProgress }),
    });
    const results =
      options.baseline === undefined ? report.results : markKnown(report.results, options.baseline);
    return { ...report, results, verdict: verdictOf(results, options.failOn) };
  } finally {
    await receiver?.stop();
  }
}

/** The words that start the same run again, for a shell; the secret and user info stay out of them. */
function invocationOf({ url, command, observeUrl, events }: VerifyOptions): Report["invocation"] {
  const options = [
    ...(observeUrl === undefined ? [] : ["--observe", shellWord(withoutUserInfo(observeUrl))]),
    ...(events === undefined ? [] : ["--events", shellWord(events.join(","))]),
  ];
  const address = shellWord(withoutUserInfo(url));
  const start =
    command === undefined
      ? [address, "--secret", '"$SIGNING_SECRET"', ...options]
      : ["--url", address, ...options];
  return {
    start: ["voice-agent-simulator verify", ...start].join(" "),
    end: command === undefined ? "" : ` -- ${command.map(shellWord).join(" ")}`,
  };
}
