import type { Envelope } from "../../shared/events.ts";
import type { Emission, EmissionResult, Emitter, Occurrence, ReplaySettings } from "../domain/emitter.ts";
import type { EventLog, StoredEvent } from "../domain/events.ts";
import type { EventPage, EventSearch, EventSummaries, EventSummary } from "../domain/event-summaries.ts";

/** What one can do with events: let one happen, send recorded ones again, look at what was emitted. */
export function createEventVerbs(options: {
  events: EventLog;
  eventSummaries: EventSummaries;
  emitter: Emitter;
}) {
  const { events, eventSummaries, emitter } = options;
  return {
    /** Exactly one event of a type, `count` times. The world has what goes with it (a voicemail has its call). */
    emit: (occurrence: Occurrence, count = 1): EmissionResult => emitter.emit(occurrence, count),
    /** What the business itself does: the event, and the `call.completed` that belongs to it. */
    live: (occurrence: Occurrence): EmissionResult => emitter.live(occurrence),
    /** Sends a recorded envelope to every endpoint that selected its type: under its own id, or under a new one. */
    replay: (envelope: Envelope, settings: ReplaySettings): Emission => emitter.replay(envelope, settings),
    find: (id: string): StoredEvent | undefined => events.find(id),
    /** As lists show it. */
    summary: (id: string): EventSummary | undefined => eventSummaries.find(id),
    page: (search: EventSearch): EventPage => eventSummaries.page(search),
  };
}
