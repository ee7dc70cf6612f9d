import { envelopeSchema, EVENT_TYPES } from "../../shared/events.ts";
import { deliveryView } from "../control/views.ts";
import type { EmitResult } from "../domain/emitter.ts";
import { isSuccess } from "../domain/judgement.ts";
import type { DeliveryShape } from "../domain/shapes.ts";
import { firstResult, untilFirstAttempts } from "./first-attempts.ts";
import type { Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import type { Observer } from "../observer/observer.ts";
import { setTimeout as pause } from "node:timers/promises";

/** Maximum wait for what a receiver did with the samples, in total and while it does not answer. */
const HANDLING_MS = 21_000;
const UNREAD_MS = 3_000;
const LOOK_EVERY_MS = 50;

/** `unread` says why the receiver's record could not be read. */
type Row = { delivery: DeliveryShape; isDuplicate: boolean; unread?: string };

/** Sends a sample of each type and a duplicate, and shows the answers. `allHandled`: every one was handled correctly. */
export async function sendSamples(options: {
  running: RunningSimulator;
  endpointId: string;
  output: Output;
  observer: Observer | undefined;
  /** Aborted when the user interrupts; `signal` also when the receiver ends. */
  interruption: AbortSignal;
  signal: AbortSignal;
}): Promise<{ allHandled: boolean }> {
  const { running, endpointId, output, observer, interruption, signal } = options;
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

  if (observer !== undefined) await Promise.all(rows.map((row) => untilHandled(row, observer)));
  for (const row of rows) print(row);
  const allHandled = !signal.aborted && rows.length > EVENT_TYPES.length && rows.every(isHandled);
  output.value({
    object: "samples",
    all_handled: allHandled,
    interrupted: signal.aborted,
    samples: rows.map(valueOf),
  });
  output.line();
  if (interruption.aborted) output.line("Interrupted before all samples were sent.");
  else if (signal.aborted) output.line("Your receiver ended while it got the samples.");
  else output.line(summary(rows, allHandled, observer !== undefined, output));
  return { allHandled };

  /** Waits for the first attempt at our endpoint: a data file may contain other endpoints. */
  async function follow(result: EmitResult, isDuplicate: boolean): Promise<void> {
    if (!result.ok) throw new Error(`The world could not make a sample: ${result.message}`);
    const ours = result.emitted
      .flatMap((one) => one.deliveries)
      .filter((one) => one.endpointId === endpointId);
    const read = async () => ({
      found: ours.flatMap(({ id }) => deliveries.summary(id) ?? []).map(deliveryView),
      now: new Date(clock.now()).toISOString(),
    });
    const found = await untilFirstAttempts(read, { signal, output });
    rows.push(...found.map((delivery) => ({ delivery, isDuplicate })));
  }

  async function untilHandled(row: Row, observer: Observer): Promise<void> {
    const startedMs = performance.now();
    const isOpen = ({ handling, verdict }: DeliveryShape) =>
      handling === null || verdict.result === "waiting";
    while (isAcknowledged(row.delivery) && isOpen(row.delivery)) {
      const patienceMs = row.delivery.handling === null ? UNREAD_MS : HANDLING_MS;
      if (signal.aborted || performance.now() - startedMs > patienceMs) break;
      await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      const summary = deliveries.summary(row.delivery.id);
      if (summary !== undefined) row.delivery = deliveryView(summary);
    }
    if (!isAcknowledged(row.delivery) || row.delivery.handling !== null) return;
    const reading = await observer(row.delivery.event_id, signal);
    row.unread = reading.known ? "not handled" : reading.reason;
  }

  function print({ delivery, unread }: Row): void {
    const status = firstResult(delivery);
    const took = `${delivery.attempts[0]?.duration_ms ?? "?"} ms`.padStart(7);
    output.line(
      [
        `  ${delivery.event_type.padEnd(18)}`,
        delivery.event_id,
        output.style(isAcknowledged(delivery) ? "green" : "red", status.padEnd(7)),
        took,
        ` ${unread ?? delivery.verdict.sentence}`,
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
  if (statuses.size === 1 && (statuses.has("401") || statuses.has("403")))
    return output.style(
      "red",
      "Your receiver rejects what the service signs: it must verify with the secret in SIGNING_SECRET, over the raw body.",
    );
  if (statuses.size === 1 && statuses.has("404"))
    return output.style("red", "Your receiver has no such path: give its address with --url.");
  if (statuses.size === 1 && statuses.has("refused"))
    return output.style("red", "Nothing listens there: start your receiver, or give its address with --url.");
  return output.style("red", "Not every sample was handled: see the lines above.");
}

function isHandled({ delivery, unread }: Row): boolean {
  const { handled } = delivery.handling ?? { handled: 1 };
  return isAcknowledged(delivery) && unread === undefined && handled === 1;
}

function isAcknowledged({ attempts: [first] }: DeliveryShape): boolean {
  return isSuccess(first?.http_status ?? 0);
}

function valueOf({ delivery, isDuplicate }: Row) {
  const [first] = delivery.attempts;
  return {
    type: delivery.event_type,
    event_id: delivery.event_id,
    duplicate: isDuplicate,
    http_status: first?.http_status ?? null,
    error: first?.error ?? null,
    duration_ms: first?.duration_ms ?? null,
    handled: delivery.handling?.handled ?? null,
  };
}
