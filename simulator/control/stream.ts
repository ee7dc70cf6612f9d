import { clearInterval, clearTimeout, setInterval, setTimeout } from "node:timers";
import type { Router } from "express";
import type { JournalEntry } from "../domain/journal.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { verificationView } from "./reports.ts";
import { answerError } from "./answers.ts";
import { clockView, deliveryView, endpointView, eventView, jobView } from "./views.ts";

const HEARTBEAT_MS = 15_000;
/** How long after a change of a delivery the clock is sent, with its counts and what is due next. */
const CLOCK_AFTER_MS = 150;
const RECONNECT_AFTER_MS = 1_000;
/** Maximum number of bytes that a client may leave unread; beyond it the stream ends. */
const LARGEST_BACKLOG_BYTES = 1024 * 1024;
const MOST_STREAMS = 64;
const LAST_WORDS_MS = 5_000;
/** A client that missed more entries than this must reload everything, which is shorter. */
const MOST_RESUMED_ENTRIES = 500;

type Message = { name: string; data: unknown };

/**
 * Live changes (server-sent events): `event`, `delivery`, `endpoint`, `endpoint_deleted`, `clock`, `job`, `verification` and
 * `reset`, each with an id. A client that reconnects with Last-Event-ID gets what it missed, or `resync` if that is too much
 * or no longer known. A client that reads too slowly gets `reset`, and its stream ends.
 */
export function streamRoutes(router: Router, simulator: Simulator): void {
  const { journal } = simulator;
  const clients = new Set<(name: string, data: string) => void>();
  let clockTimer: NodeJS.Timeout | undefined;
  let streams = 0;

  router.get("/stream", async (request, response) => {
    if (streams >= MOST_STREAMS) {
      const message = `${MOST_STREAMS} streams are open already: close one, such as a tab of the dashboard.`;
      return answerError(response.set("Retry-After", "1"), "too_many_streams", message);
    }
    streams += 1;
    response.once("close", () => (streams -= 1));
    // Clients of a stream never close only their own side.
    request.socket.once("end", () => response.destroy());
    // Loaded with the first stream, so that a simulator without a dashboard starts faster.
    const { createSession } = await import("better-sse");
    const session = await createSession(request, response, {
      // The library's own keep-alive keeps writing after the stream has ended, which throws.
      keepAlive: null,
      retry: RECONNECT_AFTER_MS,
      // Texts are JSON already.
      serializer: String,
    });
    const unwatch = journal.watch(push);
    const send = (name: string, data: string) => session.push(data, name, String(journal.lastId()));
    clients.add(send);
    const heartbeat = setInterval(() => response.write(":\n\n"), HEARTBEAT_MS).unref();
    session.once("disconnected", stop);

    const lastId = Number(session.lastId);
    if (session.lastId === "" || !Number.isSafeInteger(lastId))
      return send("clock", JSON.stringify(clockView(simulator)));
    const missed = journal.since(lastId);
    if (missed === undefined || missed.length > MOST_RESUMED_ENTRIES) {
      send("resync", "{}");
    } else for (const entry of missed) push(entry);

    function stop(): void {
      unwatch();
      clients.delete(send);
      clearInterval(heartbeat);
      if (clients.size > 0) return;
      clearTimeout(clockTimer);
      clockTimer = undefined;
    }

    function push(entry: JournalEntry): void {
      if (!session.isConnected || response.writableEnded) return;
      if (response.writableLength > LARGEST_BACKLOG_BYTES) return drop(entry);
      const message = messageOf(entry);
      if (message !== undefined) session.push(JSON.stringify(message.data), message.name, String(entry.id));
      if (message?.name === "delivery") sendClockSoon();
    }

    function drop(entry: JournalEntry): void {
      stop();
      session.push("{}", "reset", String(entry.id));
      response.end();
      response.socket?.setTimeout(LAST_WORDS_MS, () => response.destroy());
    }
  });

  /** Counts and due times change with each attempt: one message covers many. */
  function sendClockSoon(): void {
    clockTimer ??= setTimeout(() => {
      clockTimer = undefined;
      const clock = JSON.stringify(clockView(simulator));
      const jobs = simulator.jobs.active().map((job) => JSON.stringify(jobView(job)));
      for (const send of clients) {
        send("clock", clock);
        for (const job of jobs) send("job", job);
      }
    }, CLOCK_AFTER_MS).unref();
  }

  function messageOf(entry: JournalEntry): Message | undefined {
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
      case "job.changed": {
        const found = simulator.jobs.get(entry.jobId);
        return found.ok ? { name: "job", data: jobView(found.job) } : undefined;
      }
      case "verification.changed":
      case "check.done": {
        const verification = simulator.verification.current();
        if (verification?.id !== entry.verificationId) return undefined;
        const checkIds = entry.kind === "check.done" ? [entry.checkId] : [];
        return { name: "verification", data: verificationView(verification, checkIds) };
      }
      case "reset":
        return { name: "reset", data: {} };
      default:
        return entry satisfies never;
    }
  }
}
