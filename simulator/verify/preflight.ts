import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/limits.ts";
import { bodyVariants } from "../explain/body-variants.ts";
import { DIGEST_VARIANTS, SPELLING_VARIANTS } from "../explain/digest-variants.ts";
import { messageVariants } from "../explain/message-variants.ts";
import { secretVariants } from "../explain/secret-variants.ts";
import { digest, header, moment, T } from "../signature-recipe/recipe.ts";
import type { Check, Verdict } from "./check.ts";
import type { CheckContext } from "./context.ts";
import type { Reading } from "../observer/observer.ts";
import { type DeliverOptions, type Exchange, isAcknowledged } from "./delivery.ts";
import { ending, isHandled } from "./judge.ts";
import { whenReady } from "./attempts.ts";
import { ourCommand } from "../text/invocation.ts";
import { RULES } from "./rules.ts";

/** The questions without which no other can be asked. They head every report. */
export const reachableCheck = question("reachable", {
  title: "can be reached",
  spec: RULES.envelope,
  hint: "Start the receiver, or mend the URL.",
});

export const acceptsCheck = question("accepts", {
  title: "accepts genuine deliveries at all",
  spec: RULES.signedString,
  hint: "Start the receiver with the same signing secret that verify is given, and give verify the path of its webhook route.",
});

export const observableCheck = question("observable", {
  title: "shows through --observe what it has handled",
  spec: RULES.once,
  hint: 'The --observe URL must answer JSON with a number "handled" for the event id put in place of {id}, and 404 or 0 for one never handled.',
});

function question(name: string, about: Pick<Check, "title" | "spec" | "hint">): Omit<Check, "run"> {
  return { ...about, id: `preflight.${name}`, level: "must", group: "preflight", again: "" };
}

export type Preflight = {
  /** No server answered, so nothing can be said about the receiver. */
  unreachable: boolean;
  /** The receiver says that it handled the first event before it was sent: in an earlier run with the same seed. */
  handledBefore: boolean;
  accepts: Verdict;
};

/** Sends genuine deliveries, one of each type, until one is acknowledged; when all are refused, finds out why. */
export async function preflight(context: CheckContext): Promise<Preflight> {
  const exchanges: Exchange[] = [];
  let handledBefore = false;
  for (const type of context.events) {
    const envelope = context.event(type);
    if (exchanges.length === 0) handledBefore = isHandled(await context.handledNow(envelope.id));
    const exchange = await whenReady(context.timing, () => context.deliver(envelope));
    exchanges.push(exchange);
    if (isAcknowledged(exchange))
      return { unreachable: false, handledBefore, accepts: { outcome: "passed" } };
    const { outcome } = exchange;
    if (outcome.kind === "no_answer" && ["dns", "refused", "tls"].includes(outcome.error)) {
      const reason = `${context.target.url} cannot be reached. ${outcome.message}`;
      return { unreachable: true, handledBefore, accepts: { outcome: "unverified", reason } };
    }
    // A second wait of ten seconds would tell no more than the first.
    if (outcome.kind === "no_answer" && outcome.error === "timeout") break;
    if (outcome.kind === "answered" && outcome.status === 503) break;
  }
  const problem = await explain(context, exchanges);
  const accepts: Verdict = { outcome: "failed", problem, exchanges: exchanges.slice(0, 1) };
  return { unreachable: false, handledBefore, accepts };
}

/** Whether the first acknowledged event shows up behind --observe, and has not done so before the run. */
export async function observable(
  context: CheckContext,
  withinMs: number,
  { handledBefore }: Preflight,
): Promise<Verdict> {
  const entry = context.ledger.all().find(({ acknowledgedAtMs }) => acknowledgedAtMs !== undefined);
  if (entry === undefined) return { outcome: "unverified", reason: "No event was acknowledged." };
  let last: Reading | undefined;
  const seen = await context.waitUntil(async () => {
    last = await context.handledNow(entry.eventId);
    return last.known && last.count > 0;
  }, withinMs);
  if (seen && handledBefore) return { outcome: "unverified", reason: usedSeed(context.seed) };
  if (seen) return { outcome: "passed" };
  const found =
    last?.known === false ? last.reason : `It says that the event was handled ${last?.count ?? 0} times.`;
  return {
    outcome: "failed",
    problem: `Event ${entry.eventId} was acknowledged, but not seen as handled within ${withinMs / 1_000} s. ${found}`,
    exchanges: entry.exchanges.slice(0, 1),
  };
}

function usedSeed(seed: string): string {
  return (
    `The receiver has handled events of the seed ${seed} before, and its counts go on from there. ` +
    "To judge it afresh, empty its database or leave --seed out."
  );
}

async function explain(context: CheckContext, exchanges: Exchange[]): Promise<string> {
  const [first] = exchanges;
  if (first === undefined || first.outcome.kind === "no_answer") {
    return `The receiver accepts connections, but ${first === undefined ? "nothing was sent" : ending(first)}.`;
  }
  const { status } = first.outcome;
  if (status === 404 || status === 405) {
    return `The receiver answers ${status} to every delivery: ${context.target.path} is not the path of its webhook route. Give the whole URL.`;
  }
  if (status >= 300 && status <= 399) {
    return `The receiver answers ${status}, a redirect, to every delivery. The service follows none: give the URL that answers itself.`;
  }
  if (status === 503) {
    return `The receiver still answers 503 after ${context.timing.readyMs / 1_000} s; give it longer with --ready-timeout.`;
  }
  const offset = context.clock.known();
  const aheadSeconds = offset === undefined ? 0 : Math.round(offset.most);
  if (Math.abs(aheadSeconds) >= SIGNATURE_TOLERANCE_SECONDS - 1) {
    return (
      `The receiver refuses every genuine delivery (${status}), and its clock is ${Math.abs(aheadSeconds)} s ` +
      `${aheadSeconds > 0 ? "ahead of" : "behind"} ours: deliveries are too old or too new for it. Set its clock by NTP.`
    );
  }
  const envelope = context.event();
  for (const { title, fix, options } of guesses(context.secret, Buffer.from(JSON.stringify(envelope)))) {
    const exchange = await context.deliver(envelope, { ...options, forged: true });
    if (isAcknowledged(exchange)) {
      return `The receiver refuses every genuine delivery (${status}), but accepts one that is signed wrongly. ${title} ${fix}`;
    }
  }
  if (status >= 500) return `The receiver fails on every delivery: ${ending(first)}.`;
  return (
    `The receiver refuses every genuine delivery, of all ${exchanges.length} types: ${ending(first)}. ` +
    (context.receiver === undefined
      ? "Most likely it was started with another signing secret than verify was given. "
      : "It was started with the right secret in the variable SIGNING_SECRET: most likely it reads another, or hashes other bytes than it was sent. ") +
    `${ourCommand("explain --help")} finds out of what it made its digest.`
  );
}

/** Mistakes of receivers, the likeliest first: a receiver that makes one accepts a delivery signed with it. */
const GUESSED = [
  "message-body-only",
  "message-no-period",
  "spelling-upper-case",
  "spelling-base64",
  "secret-base64-decoded",
  "secret-hex-decoded",
  "secret-prefix-stripped",
  "body-reserialized-python",
  "body-reserialized-python-unicode",
  "body-reserialized-indent-2",
  "body-reserialized-go",
  "body-reserialized-php",
  "digest-sha512",
  "digest-sha1",
];

/** The guesses for one delivery, which `explain` would name the same way. */
function guesses(secret: string, body: Buffer): { title: string; fix: string; options: DeliverOptions }[] {
  const departures = [
    ...messageVariants({ t: "", header: "", eventId: "" }),
    ...SPELLING_VARIANTS,
    ...secretVariants(secret),
    ...bodyVariants(body),
    ...DIGEST_VARIANTS,
  ];
  const inMilliseconds = {
    title: "t is taken for milliseconds.",
    fix: "t is Unix time in seconds.",
    options: { timestamp: [moment(0), "000"] },
  };
  return [
    inMilliseconds,
    ...GUESSED.flatMap((id) => departures.filter(({ deviation }) => deviation.id === id)).map(
      ({ deviation: { title, fix }, change }) => ({
        title,
        fix,
        options: { signature: [header`t=${T},v1=${digest(change)}`] },
      }),
    ),
  ];
}
