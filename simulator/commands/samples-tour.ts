import { envelopeSchema, EVENT_TYPES } from "../../shared/events.ts";
import type { Attempt } from "../domain/attempts.ts";
import { isSuccess } from "../domain/judgement.ts";
import type { EmittedEvent } from "../domain/emitter.ts";
import type { Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import type { Observer, Reading } from "../observer/observer.ts";
import { setTimeout as pause } from "node:timers/promises";

type Row = {
  type: string;
  eventId: string;
  note: string;
  attempt: Attempt | undefined;
  observation?: Observation;
};

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
  for (const type of EVENT_TYPES) {
    if (signal.aborted) break;
    const result = events.emit({ type });
    if (!result.ok) throw new Error(`The world could not make a ${type}: ${result.message}`);
    for (const one of result.emitted) await follow(one, "");
  }
  const [first] = rows;
  const firstEvent = first && events.find(first.eventId);
  if (firstEvent !== undefined && !signal.aborted) {
    const envelope = envelopeSchema.parse(JSON.parse(firstEvent.body.toString()));
    const again = events.replay([envelope], { newIds: false });
    if (again.ok) for (const one of again.emitted) await follow(one, "again");
  }

  if (observer !== undefined) {
    const observed = rows.map(async (row) => {
      row.observation = await observe(observer, row.eventId, { signal });
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
  async function follow({ event, deliveries: created }: EmittedEvent, note: string): Promise<void> {
    for (const { id, endpointId: to } of created) {
      if (to !== endpointId) continue;
      await firstAttempt(id);
      rows.push({ type: event.type, eventId: event.id, note, attempt: deliveries.attempts(id)[0] });
    }
  }

  async function firstAttempt(deliveryId: string): Promise<void> {
    const over = attemptOver(deliveryId);
    // A clock that is moved by hand would let a delivery that begins late wait for ever.
    const dueMs = deliveries.find(deliveryId)?.nextAttemptAtMs ?? 0;
    const aheadMs = dueMs - clock.now();
    if (clock.mode === "manual" && aheadMs > 0) await clock.advance(Math.ceil(aheadMs / 1000));
    await over;
  }

  function attemptOver(deliveryId: string): Promise<void> {
    return new Promise((resolve) => {
      const isOver = () =>
        signal.aborted ||
        deliveries.find(deliveryId)?.state !== "attempting" ||
        typeof deliveries.attempts(deliveryId)[0]?.endedAtMs === "number";
      const look = () => {
        if (!isOver()) return;
        stop();
        signal.removeEventListener("abort", look);
        resolve();
      };
      const stop = running.simulator.journal.watch(look);
      signal.addEventListener("abort", look);
      look();
    });
  }

  function print({ type, eventId, note, attempt, observation }: Row): void {
    const status = String(attempt?.httpStatus ?? attempt?.error ?? "?");
    const isFine = isAcknowledged(attempt);
    const took = `${attempt?.durationMs ?? "?"} ms`.padStart(7);
    output.line(
      [
        `  ${type.padEnd(18)}`,
        eventId,
        output.style(isFine ? "green" : "red", status.padEnd(7)),
        took,
        ` ${note === "" ? "" : "sent again: "}${observation?.words ?? wordsOf(attempt)}`,
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
    rows.filter((row) => !isAcknowledged(row.attempt)).map((row) => row.attempt?.httpStatus),
  );
  if (statuses.size === 1 && (statuses.has(401) || statuses.has(403))) {
    return output.style(
      "red",
      "Your receiver rejects what the service signs: it must verify with the secret in SIGNING_SECRET, over the raw body.",
    );
  }
  if (statuses.size === 1 && statuses.has(404)) {
    return output.style("red", "Your receiver has no such path: give its address with --url.");
  }
  return output.style("red", "Not every sample was handled: see the lines above.");
}

function isHandled(row: Row): boolean {
  return isAcknowledged(row.attempt) && (row.observation === undefined || row.observation.handled === 1);
}

function isAcknowledged(attempt: Attempt | undefined): boolean {
  return isSuccess(attempt?.httpStatus ?? 0);
}

function wordsOf(attempt: Attempt | undefined): string {
  if (attempt?.endedAtMs === undefined || attempt.endedAtMs === null) return "no answer yet";
  return isAcknowledged(attempt) ? "acknowledged" : "not acknowledged";
}

function valueOf({ type, eventId, note, attempt, observation }: Row) {
  return {
    type,
    event_id: eventId,
    duplicate: note !== "",
    http_status: attempt?.httpStatus ?? null,
    error: attempt?.error ?? null,
    duration_ms: attempt?.durationMs ?? null,
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
