import { startReceiver } from "../processes/receiver-process.ts";
import { withoutUserInfo } from "../text/redact.ts";
import { ourCommand } from "../text/invocation.ts";
import { shellWord } from "../text/shell-words.ts";
import { createObserver } from "../observer/observer.ts";
import { type FailOn, type Report, verdictOf } from "./report.ts";
import { runChecks, type RunOptions } from "./run.ts";
import { DEFAULT_TIMING, timingFor } from "./timing.ts";

/** Where the simulator listens by default: the receiver's address for the REST API. */
const API_BASE_URL = "http://127.0.0.1:4010";
const API_KEY = "va_test_restaurant";

const INTERRUPTED_GRACE_MS = 250;

export type VerifyOptions = Omit<RunOptions, "invocation" | "observe" | "receiver" | "startFailure"> & {
  /** The user chose the secret: repeating the run needs it too if we start the receiver. */
  secretGiven?: boolean;
  /** Hosts beyond this machine that the user says may be sent to; only repeated in the words that start the run again. */
  allowHosts?: readonly string[];
  /** Program and arguments that start the receiver; without it, it runs already. */
  command?: string[];
  observeUrl?: string | undefined;
  /** How long the receiver has to listen, where we start it, and to answer anything but 503. */
  readyTimeoutMs: number;
  /** Kills more often, and looks for ids that are forgotten after more others. */
  thorough?: boolean;
  /** How long it may take to handle acknowledged events. */
  effectsWithinMs?: number | undefined;
  failOn: readonly FailOn[];
};

/**
 * The whole conformance run on one receiver, started and ended by us where `command` is given. A receiver that does
 * not start, or cannot be reached, is a report too: nothing was verified.
 */
export async function verifyReceiver(options: VerifyOptions): Promise<Report> {
  const { url, secret, command, signal } = options;
  const { port, protocol } = new URL(url);
  const started =
    command === undefined
      ? undefined
      : await startReceiver({
          command,
          url,
          readyTimeoutMs: options.readyTimeoutMs,
          isNoise: (line) => isRequestOfOurs(line, options),
          env: {
            PORT: port === "" ? (protocol === "https:" ? "443" : "80") : port,
            SIGNING_SECRET: secret,
            API_BASE_URL,
            API_KEY,
          },
          signal,
        });
  const receiver = started?.ok === true ? started.receiver : undefined;
  try {
    const report = await runChecks({
      ...options,
      invocation: invocationOf(options),
      timing: { ...timingFor(options), ...options.timing },
      observe: options.observeUrl === undefined ? undefined : createObserver(options.observeUrl),
      receiver,
      startFailure: started?.ok === false ? started : undefined,
    });
    if (report.incomplete !== undefined) return report;
    return { ...report, verdict: verdictOf(report.results, options.failOn) };
  } finally {
    // After Ctrl-C the user does not want to wait for an orderly end.
    await receiver?.stop(signal?.aborted === true ? { graceMs: INTERRUPTED_GRACE_MS } : {});
  }
}

/** Whether a line of the receiver only logs a request that we made: hundreds of them would push its errors out. */
function isRequestOfOurs(
  line: string,
  { url, observeUrl }: Pick<VerifyOptions, "url" | "observeUrl">,
): boolean {
  if (!/\b(?:GET|POST|PUT|HEAD|OPTIONS|DELETE)\b/.test(line) || /error|exception|panic|fatal/i.test(line))
    return false;
  const observed = observeUrl === undefined ? "" : new URL(observeUrl.split("{id}")[0] ?? "").pathname;
  return line.includes(new URL(url).pathname) || (observed.length > 1 && line.includes(observed));
}

/** The words that start the same run again, for a shell; the secret and user info stay out of them. */
export function invocationOf(
  options: Pick<VerifyOptions, "url"> & Partial<VerifyOptions>,
): Report["invocation"] {
  const {
    url,
    command,
    observeUrl,
    events,
    effectsWithinMs,
    readyTimeoutMs = DEFAULT_TIMING.readyMs,
    thorough,
    allowHosts = [],
    failOn = [],
  } = options;
  const given: string[] = [];
  if (observeUrl !== undefined) given.push("--observe", withoutUserInfo(observeUrl));
  if (events !== undefined) given.push("--events", events.join(","));
  if (thorough === true) given.push("--thorough");
  if (effectsWithinMs !== undefined) given.push("--effects-within", String(effectsWithinMs / 1_000));
  if (readyTimeoutMs !== DEFAULT_TIMING.readyMs)
    given.push("--ready-timeout", String(readyTimeoutMs / 1_000));
  for (const host of allowHosts) given.push("--allow-host", host);
  if (failOn.length > 0) given.push("--fail-on", failOn.join(","));
  const more = given.map((word) => ` ${shellWord(word)}`).join("");
  const address = shellWord(withoutUserInfo(url));
  const isSecretGiven = command === undefined || options.secretGiven === true;
  const secret = isSecretGiven ? ' --secret "$SIGNING_SECRET"' : "";
  const start = (words: string): string => ourCommand(`verify ${words}${secret}${more}`);
  if (command === undefined) return { start: start(address), end: "" };
  return { start: start(`--url ${address}`), end: ` -- ${command.map(shellWord).join(" ")}` };
}
