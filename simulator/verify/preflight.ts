import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/signature.ts";
import type { Reading } from "../observer/observer.ts";
import { ourCommand } from "../text/invocation.ts";
import { isBooting, whenReady } from "./attempts.ts";
import { causeOf, VERIFY_CAUSES } from "./causes.ts";
import type { Check, Verdict } from "./check.ts";
import type { CheckContext } from "./context.ts";
import { type Exchange, isAcknowledged } from "./delivery.ts";
import { guessRecipe } from "./guess.ts";
import { ending, failed, isAtRest, isHandled, unverified } from "./judgement.ts";
import { ruleOf } from "./rules.ts";

/** The checks on which all others depend. They come first in every report. */
export const reachableCheck = question("reachable", { title: "can be reached", spec: ruleOf("envelope") });

export const acceptsCheck = question("accepts", {
  title: "accepts genuine deliveries at all",
  spec: ruleOf("signedString"),
});

export const observableCheck = question("observable", {
  title: "shows through --observe what it has handled",
  spec: ruleOf("once"),
  hint: 'The --observe URL must answer JSON with a number "handled" for the event id put in place of {id}, and 404 or 0 for one never handled.',
});

function question(name: string, about: Pick<Check, "title" | "spec" | "hint">): Omit<Check, "run"> {
  return { ...about, id: `preflight.${name}`, level: "must", group: "preflight", again: "--only preflight" };
}

export type Preflight = {
  /** No server answered, so nothing can be judged. */
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
      const isAlone = outcome.error === "refused" && context.receiver === undefined;
      const fix = isAlone ? " Start the receiver, or give verify the command that starts it, after --." : "";
      const accepts = unverified(`${context.target.url} cannot be reached. ${outcome.message}${fix}`);
      return { unreachable: true, handledBefore, accepts };
    }
    // A second wait of ten seconds would show nothing new.
    if (outcome.kind === "no_answer" && outcome.error === "timeout") break;
    if (isBooting(exchange)) break;
  }
  const [first] = exchanges;
  if (first === undefined) throw new Error("there is no event type to send");
  const accepts = failed(causeOf(first), await whyRefused(context, first), [first]);
  return { unreachable: false, handledBefore, accepts };
}

/** Whether the first acknowledged event shows up behind --observe, and has not done so before the run. */
export async function observable(
  context: CheckContext,
  withinMs: number,
  { handledBefore }: Preflight,
): Promise<Verdict> {
  const entry = context.ledger.all().find(({ acknowledged }) => acknowledged);
  if (entry === undefined) return unverified("No event was acknowledged.");
  let last: Reading | undefined;
  await context.waitUntil(async () => {
    last = await context.handledNow(entry.eventId);
    return isAtRest(last);
  }, withinMs);
  if (last !== undefined && isHandled(last))
    return handledBefore ? unverified(usedSeed(context.seed)) : { outcome: "passed" };
  if (last !== undefined && isAtRest(last))
    return { outcome: "passed", note: "The first event was deferred or ignored, which is enough." };
  const found = last?.known === false ? last.reason : "It says that the event was handled 0 times.";
  const problem = `Event ${entry.eventId} was acknowledged, but not seen as handled within ${withinMs / 1_000} s. ${found}`;
  return failed("never_handled", problem, entry.exchanges.slice(0, 1));
}

function usedSeed(seed: string): string {
  return (
    `The receiver has handled events of the seed ${seed} in an earlier run. ` +
    "To judge it again, empty its database or leave --seed out."
  );
}

async function whyRefused(context: CheckContext, first: Exchange): Promise<string> {
  const { target, timing, clock, receiver } = context;
  if (first.outcome.kind === "no_answer") return `The receiver accepts connections, but ${ending(first)}.`;
  const { status } = first.outcome;
  if (isBooting(first))
    return `The receiver still answers ${status} after ${timing.readyMs / 1_000} s; give it longer with --ready-timeout.`;
  if (status === 404 || status === 405)
    return `The receiver answers ${status} to every delivery: ${target.path} is not the path of its webhook route. Give the whole URL.`;
  if (status < 400 || status >= 500)
    return `${VERIFY_CAUSES[causeOf(first)].words}, for every delivery: ${ending(first)}.`;
  const aheadSeconds = Math.round(clock.known()?.at ?? 0);
  if (Math.abs(aheadSeconds) >= SIGNATURE_TOLERANCE_SECONDS - 1) {
    return (
      `The receiver refuses every genuine delivery (${status}), and its clock is ${Math.abs(aheadSeconds)} s ` +
      `${aheadSeconds > 0 ? "ahead of" : "behind"} ours: deliveries are too old or too new for it. Set its clock by NTP.`
    );
  }
  const guessed = await guessRecipe(context, () => Buffer.from(JSON.stringify(context.event())));
  if (guessed !== undefined) return `The receiver refuses every genuine delivery (${status}). ${guessed}`;
  return (
    `The receiver refuses every genuine delivery, of every type: ${ending(first)}. ` +
    (receiver === undefined
      ? "Most likely it was started with another signing secret than verify was given. "
      : "It was started with the right secret in the variable SIGNING_SECRET: most likely it uses another, or hashes other bytes than it got. ") +
    `To find out how it computes the digest: ${ourCommand("explain --help")}`
  );
}
