import { envelopeSchema, EVENT_TYPES } from "../../shared/events.ts";
import type { Attempt } from "../domain/attempts.ts";
import type { Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import { observe, type Observation } from "./observation.ts";

type Row = {
  type: string;
  eventId: string;
  note: string;
  attempt: Attempt | undefined;
  observation?: Observation;
};

/**
 * Sends one event of each type and one duplicate, and shows what came back and, where the receiver tells, what became of
 * each. `allHandled` is false when a sample was not acknowledged, or is known not to have been handled exactly once.
 */
export async function sendSamples(options: {
  running: RunningSimulator;
  endpointId: string;
  output: Output;
  observeUrl?: string;
}): Promise<{ allHandled: boolean }> {
  const { running, output, observeUrl } = options;
  const { emitter, deliveries, attempts } = running.simulator;
  output.line();

  const rows: Row[] = [];
  for (const type of EVENT_TYPES) {
    const result = emitter.emit({ type });
    if (!result.ok) throw new Error(`The world could not make a ${type}: ${result.message}`);
    for (const { event, deliveryIds } of result.emissions) {
      for (const id of deliveryIds) rows.push(await rowOf(event.type, event.id, id, ""));
    }
  }
  const [first] = rows;
  const firstEvent = first && running.simulator.events.find(first.eventId);
  if (firstEvent !== undefined) {
    const envelope = envelopeSchema.parse(JSON.parse(firstEvent.body.toString()));
    const { deliveryIds } = emitter.replay(envelope, { newId: false });
    for (const id of deliveryIds) rows.push(await rowOf(envelope.type, envelope.id, id, "again"));
  }

  if (observeUrl !== undefined) {
    for (const row of rows) row.observation = await observe(observeUrl, row.eventId);
  }
  for (const row of rows) print(row);
  const allHandled = rows.length > EVENT_TYPES.length && rows.every(isHandled);
  output.value({ object: "samples", all_handled: allHandled, samples: rows.map(valueOf) });
  output.line();
  output.line(summary(rows, allHandled, observeUrl !== undefined, output));
  return { allHandled };

  async function rowOf(type: string, eventId: string, deliveryId: string, note: string): Promise<Row> {
    await firstAttempt(deliveryId);
    return { type, eventId, note, attempt: attempts.ofDelivery(deliveryId)[0] };
  }

  function firstAttempt(deliveryId: string): Promise<void> {
    return new Promise((resolve) => {
      const stop = running.simulator.journal.watch((entry) => {
        if (entry.kind === "attempt.ended" && entry.deliveryId === deliveryId) done();
      });
      const done = () => {
        stop();
        resolve();
      };
      if (
        attempts.ofDelivery(deliveryId)[0]?.endedAtMs ||
        deliveries.find(deliveryId)?.state !== "attempting"
      )
        done();
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
        ` ${note === "" ? "" : "sent again: "}${observation?.words ?? (isFine ? "acknowledged" : "not acknowledged")}`,
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
  const status = attempt?.httpStatus ?? 0;
  return status >= 200 && status <= 299;
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
