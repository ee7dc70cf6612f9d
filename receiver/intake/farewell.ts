import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";
import { isReceiving, type Connection, type Connections } from "./connections.ts";

/**
 * All times below are counted in steps of this. Time in which the machine kept us waiting doesn't count: what came in
 * it has not been seen yet, and would be cut off just for that.
 */
const STEP_MS = 50;

/** The port is shut once nobody has knocked for this long, or after so long at the latest. */
const QUIET_MS = 200;
const LONGEST_CEASING_MS = 1_000;

/** How long a connection may be silent between requests; and before its first, or in the middle of one. */
const IDLE_MS = 400;
const STALLED_MS = 2_000;

/**
 * Ends a server without breaking a request, within `graceMs`. Waits until no new connections come, a third of that at
 * the most: shutting the port resets those that the kernel has accepted and we have not, and their clients would see a
 * broken request; until then they are answered 503. Then lets requests be finished. Connections that say nothing are cut
 * soon, all others at the end.
 */
export async function sayFarewell(options: {
  connections: Connections;
  clock: Clock;
  graceMs: number;
  /** Shuts the port, at once; what is connected stays so. */
  shutPort: () => void;
}): Promise<void> {
  const { connections, clock, graceMs } = options;
  const endMs = clock.monotonicMs() + graceMs;
  await cease(connections, clock, graceMs / 3);
  options.shutPort();
  await leave(connections, clock, endMs);
}

async function cease(connections: Connections, clock: Clock, graceMs: number): Promise<void> {
  const longestMs = Math.min(graceMs, LONGEST_CEASING_MS);
  let quietMs = connections.sinceKnockMs();
  for (let passedMs = 0; ; passedMs += STEP_MS) {
    const isOver = passedMs >= longestMs;
    const isLast = isOver || quietMs >= QUIET_MS;
    const knocks = connections.knocks();
    if (!isLast) await clock.sleep(STEP_MS);
    await turn();
    // One connection is accepted in a turn, others may wait behind it: nobody does when none was.
    const isQuiet = connections.knocks() === knocks;
    if (isOver || (isLast && isQuiet)) return;
    quietMs = isQuiet ? quietMs + STEP_MS : 0;
  }
}

async function leave(connections: Connections, clock: Clock, endMs: number): Promise<void> {
  const heard = new Map<Socket, { bytes: number; silentMs: number }>();
  for (;;) {
    const isOver = clock.monotonicMs() >= endMs;
    for (const [socket, connection] of connections.all) {
      const last = heard.get(socket);
      const isSilent = last?.bytes === socket.bytesRead && !isBeingHandled(connection);
      const silentMs = isSilent ? last.silentMs + STEP_MS : 0;
      heard.set(socket, { bytes: socket.bytesRead, silentMs });
      if (isOver || silentMs >= patienceMs(socket, connection)) connections.cut(socket);
    }
    if (connections.all.size === 0) return;
    await clock.sleep(STEP_MS);
    await turn();
  }
}

/** Whoever has just connected, or begun to speak, is about to send a request, which would be broken. */
function patienceMs(socket: Socket, connection: Connection): number {
  const isIdle = connection.inFlight === 0 && connection.answeredBytes === socket.bytesRead;
  return isIdle ? IDLE_MS : STALLED_MS;
}

function isBeingHandled(connection: Connection): boolean {
  return connection.inFlight > 0 && !isReceiving(connection);
}

/** Resolves after a whole turn of the event loop, right after it has polled: what had come by now has been read. */
async function turn(): Promise<void> {
  // The first may come without a poll before it.
  for (let phase = 0; phase < 2; phase += 1) await new Promise(setImmediate);
}
