import type { Envelope } from "../../../shared/events.ts";
import { attempts, burst, taken, whenReady } from "../attempts.ts";
import type { Runs } from "../check.ts";
import type { CheckContext } from "../context.ts";
import { type Exchange, isAcknowledged } from "../delivery.ts";
import { failed, handledTimes, isHandled, ONCE, unverified, whenSettled } from "../judgement.ts";
import { sideBySide } from "../side-by-side.ts";

/** A name that can only come from an event if it appears in a receiver's output. */
const PERSON = "Quirina Zappafonte";
const FLOOD = 300;
const FLOOD_BODY_BYTES = 900_000;
const FLOOD_AT_ONCE = 30;
const MOST_GROWTH_BYTES = 200 * 1024 * 1024;
const MOST_DRAIN_MS = 15_000;

/** What a receiver needs beyond the specification before others rely on it: only with `--level production`. */
export const productionRuns: Runs = {
  "production.failed-work-retried": async (context) => {
    const exchange = await poison(context);
    if (exchange === undefined) return NOT_TAKEN;
    let reading = await context.handledNow(exchange.eventId);
    await context.waitUntil(async () => {
      reading = await context.handledNow(exchange.eventId);
      const { attempts = 0, state = "" } = reading.known ? reading : {};
      return isHandled(reading) || attempts > 1 || /dead|fail/i.test(state);
    }, context.timing.promptMs);
    if (isHandled(reading)) return HANDLED;
    if (reading.known && (reading.state !== undefined || (reading.attempts ?? 0) > 1))
      return { outcome: "passed" };
    const problem = `Event ${exchange.eventId} could not be handled, and the receiver reports neither its state nor its attempts, only a count of 0.`;
    return failed("failure_hidden", problem, [exchange]);
  },
  "production.poison-stops-nothing": async (context) => {
    const poisoned = await poison(context);
    if (poisoned === undefined) return NOT_TAKEN;
    const sent = await Promise.all(burst(context).map((envelope) => attempts(context, envelope)));
    const exchanges = sent.flat();
    return whenSettled((handled) => {
      if (isHandled(handled.of(poisoned.eventId))) return HANDLED;
      const verdict = handledTimes(handled, exchanges, ONCE);
      return verdict.outcome === "failed" && verdict.cause === "never_handled"
        ? { ...verdict, cause: "held_up", exchanges: [poisoned, ...verdict.exchanges] }
        : verdict;
    });
  },
  "production.drains": async (context) => {
    const { receiver } = context;
    if (receiver === undefined) return unverified("There is no process to end.");
    const underWay = burst(context).map((envelope) => context.deliver(envelope));
    await Promise.race(underWay);
    const stoppedAt = performance.now();
    const stopped = receiver.stop({ graceMs: MOST_DRAIN_MS });
    const exchanges = await Promise.all(underWay);
    await stopped;
    const tookMs = performance.now() - stoppedAt;
    await receiver.restart();
    // Refused requests, and those without a connection, are sent again; a request cut off in the middle is the failure.
    const cut = exchanges.find(({ outcome }) => outcome.kind === "no_answer" && outcome.error === "closed");
    if (cut !== undefined) return failed("not_drained", "A request that was under way got no answer.", [cut]);
    if (tookMs >= MOST_DRAIN_MS) return failed("not_drained", "It had not ended 15 s after SIGTERM.");
    return { outcome: "passed", note: `It ended after ${Math.round(tookMs)} ms.` };
  },
  "production.full-queue-survives": async (context) => {
    const sent = await Promise.all(burst(context).map((envelope) => context.deliver(envelope)));
    await context.receiver?.stop();
    await context.receiver?.restart();
    await whenReady(context.timing, () => context.deliver(context.event()));
    const acknowledged = sent.filter(isAcknowledged);
    return whenSettled((handled) => handledTimes(handled, acknowledged, ONCE));
  },
  "production.flood-costs-no-memory": async (context) => {
    const { deliver, event, receiver } = context;
    const before = await receiver?.memoryBytes();
    if (before === undefined) return unverified("Its memory can be read only on Linux.");
    const body = Buffer.alloc(FLOOD_BODY_BYTES, JSON.stringify(event()));
    await sideBySide(FLOOD_AT_ONCE, Array<Buffer>(FLOOD).fill(body), async (one) => {
      if (context.leftMs() > 1_000) await deliver(one, { secret: "not-the-secret", forged: true });
    });
    const grown = ((await receiver?.memoryBytes()) ?? before) - before;
    const megabytes = Math.round(grown / 1024 / 1024);
    if (grown > MOST_GROWTH_BYTES) return failed("memory_grew", `It grew by ${megabytes} MB.`);
    const alive = taken(await attempts(context, event()));
    return alive.outcome === "passed" ? { ...alive, note: `It grew by ${megabytes} MB.` } : alive;
  },
  "production.log-names-nobody": async (context) => {
    const { event, secret, receiver, timing, waitUntil } = context;
    const words = {
      customer_name: PERSON,
      transcript: `Caller: My name is ${PERSON}.`,
      message_text: PERSON,
    };
    const exchange = await context.deliver(event("voicemail.created", words));
    await context.deliver(event("call.completed", words), { secret: "not-the-secret", forged: true });
    await context.deliver(Buffer.from(`{"id":"${PERSON}"`));
    const signature = exchange.request.headers.find(
      ([name]) => name === exchange.request.signature.headerName,
    )?.[1];
    const leaks = [PERSON, secret, /v1=([0-9a-f]{64})/.exec(signature ?? "")?.[1] ?? PERSON];
    const leaked = (): string | undefined =>
      receiver?.output().find((line) => leaks.some((leak) => line.includes(leak)));
    await waitUntil(async () => leaked() !== undefined, timing.quietMs);
    if (leaked() === undefined) return { outcome: "passed" };
    return failed("leaked", "Its output contains a name from an event, the secret or a signature.", [
      exchange,
    ]);
  },
};

const NOT_TAKEN = unverified("It refuses the event that no handler can handle.");
const HANDLED = unverified(
  "It handled even an event with an empty object: verify cannot make its work fail.",
);

/** Delivers an event that most handlers cannot handle, since nothing of its object is there; undefined if it is refused. */
async function poison({ deliver, event, undocumented }: CheckContext): Promise<Exchange | undefined> {
  const envelope: Envelope = undocumented(event("voicemail.created"));
  const exchange = await deliver({ ...envelope, data: { object: { object: "voicemail" } } });
  return isAcknowledged(exchange) ? exchange : undefined;
}
