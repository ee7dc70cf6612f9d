import { envelopeSchema, EVENT_TYPES } from "../../shared/events.ts";
import { deliveryView } from "../control/views.ts";
import type { EmitResult } from "../domain/emitter.ts";
import { isSuccess } from "../domain/judgement.ts";
import type { DeliveryShape } from "../domain/shapes.ts";
import { firstResult, untilFirstAttempts } from "./first-attempts.ts";
import type { Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import type { Observer, Reading } from "../observer/observer.ts";
import { setTimeout as pause } from "node:timers/promises";

type Row = { delivery: DeliveryShape; isDuplicate: boolean; observation?: Observation };

/**
 * Sends one event of each type and one duplicate to an endpoint, and shows what came back and, where the receiver tells,
 * what became of each. `allHandled` is false when a sample was not acknowledged, was not seen to be handled exactly once
 * by a receiver that is observed, or was not sent because `signal` ended the tour; what was seen until then is shown.
 */
export async function sendSamples(options: {
  running: RunningSimulator;
  endpointId: string;
  output: Output;
  observer: Observer | undefined;
  signal: AbortSignal;
}): Promise<{ allHandled: boolean }> {
  const { running, endpointId, output, observer, signal } = options;
  const { clock, deliveries, events } = running.simulator;
  output.line();

  const rows: Row[] = [];
  for (const type of EVENT_TYPES) if (!signal.aborted) await follow(events.emit({ type }), false);
  const [first] = rows;
  const firstEvent = first && events.find(first.delivery.event_id);
  if (firstEvent !== undefined && !signal.aborted) {
    const envelope = envelopeSchema.parse(JSON.parse(firstEvent.body.toString()));
    await follow(events.replay([envelope], { newIds: false }), true);
  }

  if (observer !== undefined) {
    const observed = rows.map(async (row) => {
      row.observation = await observe(observer, row.delivery.event_id, { signal });
    });
    await Promise.all(observed);
  }
  for (const row of rows) print(row);
  const allHandled = !signal.aborted && rows.length > EVENT_TYPES.length && rows.every(isHandled);
  output.value({
    object: "samples",
    all_handled: allHandled,
    interrupted: signal.aborted,
    samples: rows.map(valueOf),
  });
  output.line();
  output.line(
    signal.aborted
      ? `Interrupted: this is how far the samples came.`
      : summary(rows, allHandled, observer !== undefined, output),
  );
  return { allHandled };

  /** Waits for the first attempt of what goes to our endpoint: a data file may know others, which are not judged here. */
  async function follow(result: EmitResult, isDuplicate: boolean): Promise<void> {
    if (!result.ok) throw new Error(`The world could not make a sample: ${result.message}`);
    const ours = result.emitted
      .flatMap((one) => one.deliveries)
      .filter((one) => one.endpointId === endpointId);
    const read = async () => ({
      found: ours.flatMap(({ id }) => deliveries.summary(id) ?? []).map(deliveryView),
      now: new Date(clock.now()).toISOString(),
    });
    let found = await untilFirstAttempts(read, { signal, output });
    // With --fault delay it begins later; a clock that is moved by hand would let it wait for ever.
    const dueAt = found.find(({ attempts }) => attempts.length === 0)?.next_attempt_at;
    if (typeof dueAt === "string" && !signal.aborted) {
      const aheadMs = Math.max(0, Date.parse(dueAt) - clock.now());
      if (clock.mode === "manual") await clock.advance(Math.ceil(aheadMs / 1000));
      else await pause(aheadMs, undefined, { signal }).catch(() => {});
      found = await untilFirstAttempts(read, { signal, output });
    }
    rows.push(...found.map((delivery) => ({ delivery, isDuplicate })));
  }

  function print({ delivery, isDuplicate, observation }: Row): void {
    const status = firstResult(delivery);
    const took = `${delivery.attempts[0]?.duration_ms ?? "?"} ms`.padStart(7);
    output.line(
      [
        `  ${delivery.event_type.padEnd(18)}`,
        delivery.event_id,
        output.style(isAcknowledged(delivery) ? "green" : "red", status.padEnd(7)),
        took,
        ` ${isDuplicate ? "sent again: " : ""}${observation?.words ?? wordsOf(delivery)}`,
      ].join(" "),
    );
  }
}

function summary(rows: readonly Row[], allHandled: boolean, isObserved: boolean, output: Output): string {
  if (allHandled) {
    const what = isObserved ? "acknowledged and handled exactly once" : "acknowledged";
    return output.style(
      "green",
      `All ${EVENT_TYPES.length} event types ${what}; the duplicate changed nothing${isObserved ? "" : " that we could see"}.`,
    );
  }
  const statuses = new Set(
    rows.filter(({ delivery }) => !isAcknowledged(delivery)).map(({ delivery }) => firstResult(delivery)),
  );
  if (statuses.size === 1 && (statuses.has("401") || statuses.has("403"))) {
    return output.style(
      "red",
      "Your receiver rejects what the service signs: it must verify with the secret in SIGNING_SECRET, over the raw body.",
    );
  }
  if (statuses.size === 1 && statuses.has("404")) {
    return output.style("red", "Your receiver has no such path: give its address with --url.");
  }
  return output.style("red", "Not every sample was handled: see the lines above.");
}

function isHandled({ delivery, observation }: Row): boolean {
  return isAcknowledged(delivery) && (observation === undefined || observation.handled === 1);
}

function isAcknowledged({ attempts: [first] }: DeliveryShape): boolean {
  return isSuccess(first?.http_status ?? 0);
}

function wordsOf(delivery: DeliveryShape): string {
  if (typeof delivery.attempts[0]?.ended_at !== "string") return "no answer yet";
  return isAcknowledged(delivery) ? "acknowledged" : "not acknowledged";
}

function valueOf({ delivery, isDuplicate, observation }: Row) {
  const [first] = delivery.attempts;
  return {
    type: delivery.event_type,
    event_id: delivery.event_id,
    duplicate: isDuplicate,
    http_status: first?.http_status ?? null,
    error: first?.error ?? null,
    duration_ms: first?.duration_ms ?? null,
    handled: observation?.handled ?? null,
  };
}

/** What a receiver says became of an event: how often it was handled, in words. */
export type Observation = { handled: number | undefined; words: string };

const PATIENCE_MS = 20_000;
const POLL_EVERY_MS = 50;
/** States in which a receiver will not handle an event any more. */
const FINAL_STATES: readonly (string | undefined)[] = ["dead", "ignored"];

/** Asks until the event was handled, or says why it was not within 20 s, or until `signal` ended the wait. */
export async function observe(
  observer: Observer,
  eventId: string,
  options: { signal: AbortSignal; patienceMs?: number },
): Promise<Observation> {
  const { signal, patienceMs = PATIENCE_MS } = options;
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const reading = await observer(eventId, signal);
    const isOver = reading.known && (reading.count > 0 || FINAL_STATES.includes(reading.state));
    if (isOver || signal.aborted) return inWords(reading, "");
    if (performance.now() >= deadlineMs) return inWords(reading, ` after ${patienceMs / 1000} s`);
    await pause(POLL_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

function inWords(reading: Reading, after: string): Observation {
  if (!reading.known) return { handled: undefined, words: reading.reason + after };
  const { count, state = "handled", duplicates = 0 } = reading;
  const times = count === 1 ? "once" : `${count} times`;
  const again = duplicates === 0 ? "" : `, ${duplicates} duplicate${duplicates === 1 ? "" : "s"} seen`;
  return { handled: count, words: `${state}, handled ${times}${again}${after}` };
}
