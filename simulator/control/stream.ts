import { createSession, type Session } from "better-sse";
import { Router } from "express";
import type { JournalEntry } from "../domain/journal.ts";
import type { Simulator } from "../simulator.ts";
import { clockView, deliveryView, endpointView, eventView } from "./views.ts";

const HEARTBEAT_MS = 15_000;
const RECONNECT_AFTER_MS = 1_000;

/**
 * What happens, as it happens (server-sent events): `event`, `delivery`, `endpoint`, `endpoint_deleted`, `clock` and
 * `reset`, each with an id. A client that comes back with Last-Event-ID gets what it missed, or `resync` when that is no
 * longer known.
 */
export function streamRoutes(simulator: Simulator): Router {
  const { journal } = simulator;
  const router = Router();

  router.get("/stream", async (request, response) => {
    const session = await createSession(request, response, {
      keepAlive: HEARTBEAT_MS,
      retry: RECONNECT_AFTER_MS,
    });
    const lastId = Number(session.lastId);
    const isResuming = session.lastId !== "" && Number.isSafeInteger(lastId);
    const missed = isResuming ? journal.since(lastId) : [];
    if (missed === undefined) session.push({}, "resync", String(journal.lastId()));
    for (const entry of missed ?? []) push(session, entry);
    if (!isResuming) session.push(clockView(simulator), "clock", String(journal.lastId()));

    const stop = journal.watch((entry) => push(session, entry));
    session.once("disconnected", stop);
  });

  function push(session: Session, entry: JournalEntry): void {
    const message = messageOf(entry);
    if (message !== undefined && session.isConnected)
      session.push(message.data, message.name, String(entry.id));
  }

  function messageOf(entry: JournalEntry): { name: string; data: unknown } | undefined {
    switch (entry.kind) {
      case "event.created": {
        const event = simulator.events.summary(entry.eventId);
        return event && { name: "event", data: eventView(event) };
      }
      case "delivery.changed":
      case "attempt.started":
      case "attempt.ended": {
        const delivery = simulator.deliveries.summary(entry.deliveryId);
        return delivery && { name: "delivery", data: deliveryView(delivery) };
      }
      case "endpoint.changed": {
        const endpoint = simulator.endpoints.find(entry.endpointId);
        return endpoint
          ? { name: "endpoint", data: endpointView(endpoint) }
          : { name: "endpoint_deleted", data: { id: entry.endpointId } };
      }
      case "clock.changed":
        return { name: "clock", data: clockView(simulator) };
      case "reset":
        return { name: "reset", data: {} };
      default:
        return entry satisfies never;
    }
  }

  return router;
}
