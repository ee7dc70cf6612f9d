import type { Envelope } from "../../shared/events.ts";
import type { EmitResult, Emitter, Happening, ReplaySettings } from "../domain/emitter.ts";
import type { Endpoints } from "../domain/endpoints.ts";
import type { EventLog, StoredEvent } from "../domain/events.ts";
import type { EventPage, EventSearch, EventSummaries, EventSummary } from "../domain/event-summaries.ts";
import { notFound } from "../domain/refused.ts";

/** What one can do with events: let one happen, send recorded ones again, look at what was emitted. */
export function createEventVerbs(options: {
  events: EventLog;
  endpoints: Pick<Endpoints, "find">;
  eventSummaries: EventSummaries;
  emitter: Emitter;
}) {
  const { events, endpoints, eventSummaries, emitter } = options;
  return {
    /** Exactly one event of a type, `count` times. The world has what goes with it (a voicemail has its call). */
    emit: (happening: Happening, count?: number): EmitResult => emitter.emit(happening, count),
    /** What the business itself does: the event, and the `call.completed` that belongs to it. */
    live: (happening: Happening): EmitResult => emitter.live(happening),
    /**
     * Sends recorded envelopes to every endpoint that selected their type, or to the one that is named: under their own
     * ids, or under new ones.
     */
    replay(
      envelopes: readonly Envelope[],
      { endpointId, ...settings }: Omit<ReplaySettings, "to"> & { endpointId?: string | undefined },
    ): EmitResult {
      const to = endpointId === undefined ? undefined : endpoints.find(endpointId);
      if (endpointId !== undefined && to === undefined) return notFound("endpoint", endpointId);
      return emitter.replay(envelopes, { ...settings, to });
    },
    find: (id: string): StoredEvent | undefined => events.find(id),
    /** As lists show it. */
    summary: (id: string): EventSummary | undefined => eventSummaries.find(id),
    page: (search: EventSearch): EventPage => eventSummaries.page(search),
  };
}
