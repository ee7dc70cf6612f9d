import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";

/** Connections in all and of one address. A proxy in front is one address. */
const MAXIMUM_CONNECTIONS = 2_048;
const MAXIMUM_PER_ADDRESS = 1_024;

/** Requests of one connection that have no answer yet. Who sends more without waiting doesn't want answers. */
const MAXIMUM_IN_FLIGHT = 8;

/** How long we listen on after our last answer, so that what is still coming doesn't destroy it on its way. */
const LINGER_MS = 500;

/** Ten seconds for a body, eight for its commit: after this long without an answer taken, the peer isn't reading. */
const LONGEST_EXCHANGE_MS = 20_000;
const WATCH_INTERVAL_MS = 1_000;

export type Connection = {
  address: string;
  /** When it came, or was last answered. */
  quietSinceMs: number;
  /** How much of it had been read by then. */
  answeredBytes: number | undefined;
  inFlight: number;
  latest: { request: IncomingMessage; response: ServerResponse } | undefined;
  /** Ends as soon as what it is owed has been answered. */
  failed: boolean;
  lingering: boolean;
};

export type Connections = {
  admit: (socket: Socket) => void;
  /** Whether this request is to be handled. It isn't after a closing answer. */
  begin: (request: IncomingMessage, response: ServerResponse) => boolean;
  /**
   * What it sends can't be read any more. Calls `explain` where that can be said: not while answers are owed to earlier
   * requests, for which it would be taken. They go out, and the connection ends.
   */
  fail: (socket: Socket, explain: () => void) => void;
  all: ReadonlyMap<Socket, Connection>;
  /** How many have come so far, and how long ago the latest did. */
  knocks: () => number;
  sinceKnockMs: () => number;
  /** Ends one at once. */
  cut: (socket: Socket) => void;
  stop: () => void;
};

export type ConnectionLimits = { maximumConnections?: number; maximumPerAddress?: number };

/**
 * Keeps count of the connections, so that nobody can use them up: at the limit, in all or of one address, the one that
 * has been idle for the longest gives way to the new one, then the one that is longest in sending a request.
 */
export function createConnections({
  clock,
  maximumConnections = MAXIMUM_CONNECTIONS,
  maximumPerAddress = MAXIMUM_PER_ADDRESS,
}: { clock: Clock } & ConnectionLimits): Connections {
  const connections = new Map<Socket, Connection>();
  const perAddress = new Map<string, number>();
  let knocks = 0;
  let knockedAtMs = Number.NEGATIVE_INFINITY;
  let cancel = clock.after(WATCH_INTERVAL_MS, watch);

  return {
    admit,
    begin,
    fail,
    all: connections,
    knocks: () => knocks,
    sinceKnockMs: () => clock.monotonicMs() - knockedAtMs,
    cut,
    stop: () => cancel(),
  };

  function admit(socket: Socket): void {
    knocks += 1;
    knockedAtMs = clock.monotonicMs();
    const address = socket.remoteAddress ?? "";
    const ofAddress = perAddress.get(address) ?? 0;
    const full = ofAddress >= maximumPerAddress || connections.size >= maximumConnections;
    const victim = full ? leastActive(ofAddress >= maximumPerAddress ? address : undefined) : undefined;
    if (full && !victim) {
      socket.destroy();
      return;
    }
    if (victim) cut(victim);
    perAddress.set(address, (perAddress.get(address) ?? 0) + 1);
    connections.set(socket, {
      address,
      quietSinceMs: clock.monotonicMs(),
      answeredBytes: undefined,
      inFlight: 0,
      latest: undefined,
      failed: false,
      lingering: false,
    });
    socket.once("close", () => forget(socket));
    // Node calls it after a closing answer, and would cut off a peer that is still sending.
    socket.destroySoon = () => linger(socket);
  }

  function leastActive(address: string | undefined): Socket | undefined {
    const candidates = [...connections].filter(
      ([, connection]) => address === undefined || connection.address === address,
    );
    const oldest = (isCandidate: (connection: Connection) => boolean): Socket | undefined =>
      candidates
        .filter(([, connection]) => isCandidate(connection))
        .reduce<[Socket, Connection] | undefined>(
          (first, next) => (first && first[1].quietSinceMs <= next[1].quietSinceMs ? first : next),
          undefined,
        )?.[0];
    return oldest(({ inFlight }) => inFlight === 0) ?? oldest(isReceiving);
  }

  function begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = connections.get(socket);
    if (!connection || connection.failed || connection.lingering) return false;
    if (connection.latest?.response.shouldKeepAlive === false) return false;
    if (connection.inFlight >= MAXIMUM_IN_FLIGHT) {
      cut(socket);
      return false;
    }
    if (connection.inFlight === 0) connection.quietSinceMs = clock.monotonicMs();
    connection.inFlight += 1;
    connection.latest = { request, response };
    response.once("close", () => {
      connection.inFlight -= 1;
      connection.quietSinceMs = clock.monotonicMs();
      connection.answeredBytes = socket.bytesRead;
      if (connection.failed && !isOwedAnswers(connection)) linger(socket);
    });
    return true;
  }

  function fail(socket: Socket, explain: () => void): void {
    const connection = connections.get(socket);
    if (!connection || connection.failed || connection.lingering) return;
    connection.failed = true;
    if (isOwedAnswers(connection)) return;
    explain();
    linger(socket);
  }

  /** Ends our side, and destroys the connection soon after, whatever the peer does. */
  function linger(socket: Socket): void {
    const connection = connections.get(socket);
    if (connection?.lingering === true) return;
    if (connection) connection.lingering = true;
    socket.end();
    clock.after(LINGER_MS, () => socket.destroy());
  }

  /** Nobody who doesn't read our answers keeps a connection. */
  function watch(): void {
    const nowMs = clock.monotonicMs();
    for (const [socket, { inFlight, quietSinceMs }] of connections) {
      if (inFlight > 0 && nowMs - quietSinceMs > LONGEST_EXCHANGE_MS) cut(socket);
    }
    cancel = clock.after(WATCH_INTERVAL_MS, watch);
  }

  function cut(socket: Socket): void {
    socket.destroy();
    // At once, and not when the event comes: a burst of newcomers must not all find it full.
    forget(socket);
  }

  function forget(socket: Socket): void {
    const connection = connections.get(socket);
    if (!connection) return;
    connections.delete(socket);
    const left = (perAddress.get(connection.address) ?? 1) - 1;
    if (left > 0) perAddress.set(connection.address, left);
    else perAddress.delete(connection.address);
  }
}

/** Whether it waits for answers of ours, beside the request that is just arriving. */
function isOwedAnswers(connection: Connection): boolean {
  return connection.inFlight > (isReceiving(connection) ? 1 : 0);
}

/** Whether its latest request is still arriving. */
export function isReceiving({ inFlight, latest }: Connection): boolean {
  return inFlight > 0 && latest?.request.complete === false;
}
