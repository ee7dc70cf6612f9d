import type { Envelope, EventType } from "../../shared/events.ts";
import type { Deliveries, Delivery } from "./deliveries.ts";
import type { Endpoint, Endpoints } from "./endpoints.ts";
import { objectProblem } from "./event-type.ts";
import type { EventLog, StoredEvent } from "./events.ts";
import { type CreatedDelivery, fanOut } from "./fan-out.ts";
import { FAULTS, type Fault } from "./faults.ts";
import type { Journal } from "./journal.ts";
import type { Readings } from "./readings.ts";
import { EVENT_KINDS } from "./world/event-types.ts";
import type { HappenOptions } from "./world/happenings.ts";
import type { World } from "./world/world.ts";
import { notFound, type Refused, refused } from "./refused.ts";

export type Happening = HappenOptions & { type: EventType; faults?: readonly Fault[] | undefined };

export type EmittedEvent = { event: StoredEvent; deliveries: CreatedDelivery[] };

export type EmitResult = { ok: true; emitted: EmittedEvent[] } | Refused;

export type ReplaySettings = {
  newIds: boolean;
  faults?: readonly Fault[] | undefined;
  /** The only endpoint to send to, even if it has not selected the type; by default all that selected it. */
  endpointId?: string | undefined;
};

export type Emitter = ReturnType<typeof createEmitter>;

/** Emits events: the world changes first; then the event is stored and delivered to the endpoints. */
export function createEmitter(options: {
  world: World;
  events: EventLog;
  endpoints: Endpoints;
  deliveries: Deliveries;
  journal: Journal;
  readings: () => Readings;
  seed: number;
  now: () => number;
  transaction: <Result>(action: () => Result) => Result;
  faults: readonly Fault[];
  wake: () => void;
}) {
  const { world, events, endpoints, deliveries, journal, transaction, wake } = options;

  function publish(event: StoredEvent, to: readonly Endpoint[], faults: readonly Fault[] = []): EmittedEvent {
    const created = fanOut({
      event,
      endpoints: to,
      deliveries,
      readings: options.readings(),
      seed: options.seed,
      dueAtMs: event.origin === "replay" ? options.now() : event.createdAtMs,
      faults: [...options.faults, ...faults],
    });
    return { event, deliveries: created };
  }

  function announced(action: () => EmitResult): EmitResult {
    const result = transaction(action);
    for (const one of result.ok ? result.emitted : []) {
      journal.write({ kind: "event.created", eventId: one.event.id });
      for (const { id } of one.deliveries) journal.write({ kind: "delivery.changed", deliveryId: id });
    }
    if (result.ok) wake();
    return result;
  }

  function happen(
    happening: Happening,
    origin: StoredEvent["origin"],
    { withItsCall = false, to = endpoints.list() } = {},
  ): EmitResult {
    const { type, orgId, object, caller, faults } = happening;
    const callGoesOn = !withItsCall && EVENT_KINDS[type].item !== "call";
    const happened = world.happen(type, { orgId, object, caller, callGoesOn });
    if (!happened.ok) return happened;
    const news = [{ type, object: happened.object }];
    if (withItsCall && happened.call !== undefined && type !== "call.completed") {
      const completed = { type: "call.completed" as const, object: happened.call };
      if (options.readings().emission_order === "completed_first") news.unshift(completed);
      else news.push(completed);
    }
    const emitted = news.map((happening) => {
      const event = events.append({ ...happening, orgId: happened.orgId, origin });
      world.tie(happened, event.id);
      return publish(event, to, faults);
    });
    return { ok: true, emitted };
  }

  return {
    /**
     * Emits exactly `count` events of `type`, or none if one is refused, as unknown fields are. A voicemail has its call, which
     * no list shows before its own `call.completed`.
     */
    emit(happening: Happening, count = 1): EmitResult {
      const { type, object = {} } = happening;
      const problem = objectProblem(type, object);
      if (problem !== undefined) return refused(`object.${problem}`);
      return announced(() => {
        const emitted: EmittedEvent[] = [];
        for (let made = 0; made < count; made++) {
          const happened = happen(happening, "trigger");
          if (!happened.ok) return happened;
          emitted.push(...happened.emitted);
        }
        return { ok: true, emitted };
      });
    },
    /** An event of the business itself, with its `call.completed`, in the order of the reading `emission_order`. */
    live: (happening: Happening): EmitResult =>
      announced(() => happen(happening, "world", { withItsCall: true })),
    /** The dashboard's test action: a synthetic `call.completed` for one endpoint (SPEC §6 Registration). */
    test(endpoint: Endpoint): EmitResult {
      const isSelected = endpoint.eventTypes.length === 0 || endpoint.eventTypes.includes("call.completed");
      if (!isSelected && options.readings().test_event_ignores_selection === "no")
        return refused(
          "This endpoint has not selected call.completed, and test events respect the selection here.",
          "not_selected",
        );
      const happening = { type: "call.completed", orgId: endpoint.orgId ?? undefined } as const;
      const to = [{ ...endpoint, eventTypes: [], paused: false }];
      return announced(() => happen(happening, "test", { to }));
    },
    /** Sends recorded envelopes to endpoints that selected their type: all, or none if an id is another event here. */
    replay(envelopes: readonly Envelope[], settings: ReplaySettings): EmitResult {
      const { endpointId } = settings;
      const only = endpointId === undefined ? undefined : endpoints.find(endpointId);
      if (endpointId !== undefined && only === undefined) return notFound("endpoint", endpointId);
      return announced(() => {
        const emitted: EmittedEvent[] = [];
        const to = only ? [{ ...only, eventTypes: [], orgId: null, paused: false }] : endpoints.list();
        for (const envelope of envelopes) {
          const id = settings.newIds ? events.newId() : envelope.id;
          const event = events.adopt({ ...envelope, id });
          if (event === undefined) return refused(idTaken(id), "id_taken");
          emitted.push(publish({ ...event, origin: "replay" }, to, settings.faults));
        }
        return { ok: true, emitted };
      });
    },
    /** A new delivery of the same event to the same endpoint, with six attempts. */
    resend(delivery: Delivery): string {
      const nowMs = options.now();
      const id = deliveries.create({
        ...delivery,
        createdAtMs: nowMs,
        dueAtMs: nowMs,
        // The bytes contain these faults already.
        faults: delivery.faults.filter(({ name }) => FAULTS[name].at === "body"),
        resendOf: delivery.id,
      });
      journal.write({ kind: "delivery.changed", deliveryId: id });
      wake();
      return id;
    },
  };
}

function idTaken(id: string): string {
  return (
    `Another event with the id ${id} is stored already: ` +
    "send yours under a new id (--new-ids, or new_ids in the API)."
  );
}
