import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
import { isReceiving, type Clock, type Connection, type Connections } from "./connections.ts";

/**
 * All times below are counted in steps of this. Time in which the process got no processor does not count: what arrived
 * meanwhile has not been read yet, and its connection would look silent.
 */
const STEP_MS = 50;

/** The port is shut once no connection has come for this long, or after so long at the latest. */
const QUIET_MS = 200;
const LONGEST_OPEN_MS = 1_000;

/** How long a connection may send nothing between requests; and before its first, or in the middle of one. */
const IDLE_MS = 400;
const STALLED_MS = 2_000;

/**
 * Closes a server without breaking a request, within `graceMs`. First waits until no new connections come, for a third of
 * that at the most: closing the port resets connections that the kernel has accepted and Node.js has not. Requests that
 * arrive meanwhile wait for their answers, so that their clients do not connect again. Then lets requests be finished:
 * connections that send nothing are closed soon, all others at the end.
 */
export async function drain(options: {
  connections: Connections;
  clock: Clock;
  graceMs: number;
  /** Closes the port at once, and no connection. */
  shutPort: () => void;
}): Promise<void> {
  const { connections, clock, graceMs } = options;
  const endMs = clock.monotonicMs() + graceMs;
  await waitForQuiet(connections, clock, graceMs / 3);
  options.shutPort();
  await waitForRequests(connections, clock, endMs);
}

async function waitForQuiet(connections: Connections, clock: Clock, graceMs: number): Promise<void> {
  const longestMs = Math.min(graceMs, LONGEST_OPEN_MS);
  let quietMs = connections.sinceAcceptedMs();
  for (let passedMs = 0; ; passedMs += STEP_MS) {
    const isOver = passedMs >= longestMs;
    const isLast = isOver || quietMs >= QUIET_MS;
    const accepted = connections.accepted();
    if (!isLast) await clock.sleep(STEP_MS);
    await turn();
    // Node.js accepts one connection in a turn of the event loop: when it accepted none, none was waiting.
    const isQuiet = connections.accepted() === accepted;
    if (isOver || (isLast && isQuiet)) return;
    quietMs = isQuiet ? quietMs + STEP_MS : 0;
  }
}

async function waitForRequests(connections: Connections, clock: Clock, endMs: number): Promise<void> {
  const heard = new Map<Socket, { bytes: number; silentMs: number }>();
  for (;;) {
    const isOver = clock.monotonicMs() >= endMs;
    for (const [socket, connection] of connections.all) {
      const last = heard.get(socket);
      const isSilent = last?.bytes === socket.bytesRead && !isBeingHandled(connection);
      const silentMs = isSilent ? last.silentMs + STEP_MS : 0;
      heard.set(socket, { bytes: socket.bytesRead, silentMs });
      if (isOver || silentMs >= allowedSilenceMs(socket, connection)) connections.cut(socket);
    }
    if (connections.all.size === 0) return;
    await clock.sleep(STEP_MS);
    await turn();
  }
}

/** A client that has just connected, or begun to send, is about to send a request, which would be broken. */
function allowedSilenceMs(socket: Socket, connection: Connection): number {
  const isIdle = connection.inFlight === 0 && connection.answeredBytes === socket.bytesRead;
  return isIdle ? IDLE_MS : STALLED_MS;
}

function isBeingHandled(connection: Connection): boolean {
  return connection.inFlight > 0 && !isReceiving(connection);
}

/** Resolves after a whole turn of the event loop: what had arrived by now has been read. */
async function turn(): Promise<void> {
  // The first may run before the loop has polled.
  for (let phase = 0; phase < 2; phase += 1) await new Promise(setImmediate);
}
