import { envelopeSchema } from "../../shared/events.ts";
import type { Deliveries } from "./deliveries.ts";
import { isSubscribed, type Endpoint } from "./endpoints.ts";
import { hasOpenShape } from "./event-type.ts";
import type { StoredEvent } from "./events.ts";
import { parseExactly } from "./exact-json.ts";
import { FAULTS, faultsOnAttempt, type Fault, type FaultName } from "./faults.ts";
import { createRandom, stableId } from "./random.ts";
import type { Readings } from "./readings.ts";

export type CreatedDelivery = { id: string; endpointId: string };

/** Below the 1 MiB that receivers are advised to take. */
const LARGE_BYTES = 900 * 1024;
const DUPLICATE_AFTER_MS = 1_000;
const DELAY_MS = 30_000;
const REORDER_WITHIN_MS = 5_000;

/** Creates one delivery for every endpoint that selected the event (SPEC §3), and more for faults that duplicate it. */
export function fanOut(options: {
  event: StoredEvent;
  endpoints: readonly Endpoint[];
  deliveries: Deliveries;
  readings: Readings;
  seed: number;
  dueAtMs: number;
  faults?: readonly Fault[];
}): CreatedDelivery[] {
  const { event, deliveries, readings, dueAtMs } = options;
  const subscribed = options.endpoints.filter((endpoint) => isSubscribed(endpoint, event));
  return subscribed.flatMap((endpoint, index) => {
    const wanted = [...endpoint.faults, ...(options.faults ?? [])];
    const faults = wanted.filter(({ name }) => name !== "minimal-objects" || hasOpenShape(event.type));
    const names = faultsOnAttempt(faults, 1);
    const ownId =
      readings.event_id_across_endpoints === "distinct" && index > 0
        ? distinctId(options.seed, event, index)
        : undefined;
    const body = faultyBody(event, names, ownId);
    const create = (atMs: number): CreatedDelivery => ({
      endpointId: endpoint.id,
      id: deliveries.create({
        eventId: event.id,
        eventType: event.type,
        endpointId: endpoint.id,
        createdAtMs: dueAtMs,
        dueAtMs: atMs,
        faults,
        body,
      }),
    });
    return dueTimes(names, dueAtMs, options.seed, event).map(create);
  });
}

function dueTimes(
  faults: ReadonlySet<FaultName>,
  dueAtMs: number,
  seed: number,
  event: StoredEvent,
): number[] {
  let firstMs = dueAtMs;
  if (faults.has("delay")) firstMs += DELAY_MS;
  if (faults.has("reorder")) firstMs += createRandom(seed, "reorder", event.seq).int(0, REORDER_WITHIN_MS);
  const times = [firstMs];
  if (faults.has("duplicate")) times.push(firstMs + DUPLICATE_AFTER_MS);
  if (faults.has("duplicate-concurrently")) times.push(firstMs);
  return times;
}

/** The bytes for one endpoint, if faults or a distinct id make them differ from the event's. */
export function faultyBody(
  event: Pick<StoredEvent, "type" | "body">,
  faults: ReadonlySet<FaultName>,
  id?: string,
): Buffer | undefined {
  const isChanged = [...faults].some((name) => FAULTS[name].at === "body");
  if (!isChanged && id === undefined) return undefined;
  const envelope = envelopeSchema.parse(parseExactly(event.body.toString()));
  if (id !== undefined) envelope.id = id;
  if (faults.has("unknown-type")) envelope.type = "call.summarized";
  if (faults.has("next-version")) envelope.api_version = "v2";
  if (faults.has("large-event")) envelope.data.object["added_text"] = "é ".repeat(LARGE_BYTES / 3);
  if (faults.has("unknown-fields")) {
    envelope["livemode"] = false;
    envelope.data.object["added_in_a_later_version"] = { nested: [1, null, "é"] };
  }
  if (faults.has("minimal-objects") && hasOpenShape(event.type))
    envelope.data.object = { object: envelope.data.object.object };
  return Buffer.from(JSON.stringify(envelope));
}

function distinctId(seed: number, event: StoredEvent, index: number): string {
  return stableId("evt_", 32, { seed, purpose: `event-${event.seq}-endpoint`, index });
}
