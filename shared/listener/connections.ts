import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Open connections, in all and from one address. A proxy in front is one address. */
const MAXIMUM_CONNECTIONS = 2_048;
const MAXIMUM_PER_ADDRESS = 1_024;

/** Pipelined requests: those of one connection that have no answer yet. The answer to the last one closes it. */
const MAXIMUM_IN_FLIGHT = 8;

/**
 * How long we go on reading after our last answer. Closed while the client still sends, the connection would be reset,
 * and the client might never see the answer.
 */
const LINGER_MS = 500;

/** A client that has not taken its answer for so long gives way to a new connection, whatever it sends meanwhile. */
const LONGEST_EXCHANGE_MS = 20_000;

/** Where the time comes from. */
export type Clock = {
  monotonicMs: () => number;
  sleep: (ms: number) => Promise<void>;
  /** Calls `run` after `ms`, unless the returned function is called first. */
  after: (ms: number, run: () => void) => () => void;
};

export type Connection = {
  address: string;
  /** When it was accepted, or last answered. */
  quietSinceMs: number;
  /** Bytes that had been read from it when it was last answered. */
  answeredBytes: number | undefined;
  /** Requests without an answer. */
  inFlight: number;
  latest: { request: IncomingMessage; response: ServerResponse } | undefined;
  /** It sent what cannot be parsed, and is closed once its earlier requests are answered. */
  failed: boolean;
  /** Our side is closed; what still arrives is read and thrown away, until this ends it. */
  stopLingering: (() => void) | undefined;
};

export type Connections = ReturnType<typeof createConnections>;

export type ConnectionLimits = { maximumConnections?: number; maximumPerAddress?: number };

/**
 * Counts the connections, so that nobody can use them up. At the limit, in all or from one address, a new connection
 * replaces the one that has been idle for the longest, or else the one that has been sending its request for the longest.
 */
export function createConnections({
  clock,
  maximumConnections = MAXIMUM_CONNECTIONS,
  maximumPerAddress = MAXIMUM_PER_ADDRESS,
}: { clock: Clock } & ConnectionLimits) {
  const connections = new Map<Socket, Connection>();
  let accepted = 0;
  let acceptedAtMs = Number.NEGATIVE_INFINITY;

  return {
    admit,
    begin,
    isEnding,
    fail,
    all: connections,
    /** How many connections were accepted so far, and how long ago the latest was. */
    accepted: () => accepted,
    sinceAcceptedMs: () => clock.monotonicMs() - acceptedAtMs,
    cut,
  };

  function admit(socket: Socket): void {
    accepted += 1;
    acceptedAtMs = clock.monotonicMs();
    const address = socket.remoteAddress ?? "";
    const ofAddress = [...connections].filter(([, other]) => other.address === address);
    const isFull = ofAddress.length >= maximumPerAddress;
    if (isFull || connections.size >= maximumConnections) {
      const victim = leastActive(isFull ? ofAddress : [...connections]);
      if (!victim) return void socket.destroy();
      cut(victim);
    }
    connections.set(socket, {
      address,
      quietSinceMs: clock.monotonicMs(),
      answeredBytes: undefined,
      inFlight: 0,
      latest: undefined,
      failed: false,
      stopLingering: undefined,
    });
    socket.once("close", () => forget(socket));
    // Node calls it after an answer with `Connection: close`, and would reset a client that is still sending.
    socket.destroySoon = () => linger(socket);
  }

  function leastActive(candidates: readonly [Socket, Connection][]): Socket | undefined {
    const oldest = (isCandidate: (connection: Connection) => boolean): Socket | undefined =>
      candidates
        .filter(([, connection]) => isCandidate(connection))
        .reduce<[Socket, Connection] | undefined>(
          (first, next) => (first && first[1].quietSinceMs <= next[1].quietSinceMs ? first : next),
          undefined,
        )?.[0];
    return (
      oldest(({ inFlight }) => inFlight === 0) ??
      oldest(isReceiving) ??
      oldest(({ quietSinceMs }) => clock.monotonicMs() - quietSinceMs > LONGEST_EXCHANGE_MS)
    );
  }

  /** Whether this request is to be handled: not behind an answer that said `Connection: close`. */
  function begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = connections.get(socket);
    if (!connection || isEnding(socket)) return false;
    if (connection.inFlight === 0) connection.quietSinceMs = clock.monotonicMs();
    connection.inFlight += 1;
    connection.latest = { request, response };
    // Says `Connection: close`: the client learns that later ones were not looked at, and sends them again (RFC 9112 §9.6).
    if (connection.inFlight === MAXIMUM_IN_FLIGHT) response.shouldKeepAlive = false;
    response.once("close", () => {
      connection.inFlight -= 1;
      connection.quietSinceMs = clock.monotonicMs();
      connection.answeredBytes = socket.bytesRead;
      if (connection.failed && !isOwedAnswers(connection)) linger(socket);
    });
    return true;
  }

  /** Whether nothing more that it sends is parsed. */
  function isEnding(socket: Socket): boolean {
    const connection = connections.get(socket);
    if (!connection || connection.failed || connection.stopLingering) return true;
    const { request, response } = connection.latest ?? {};
    // The body of the last request is still wanted.
    return request?.complete === true && response?.shouldKeepAlive === false;
  }

  /**
   * Closes a connection whose bytes cannot be parsed. Calls `explain` to write an error, but not while earlier requests
   * wait for their answers: the client would take the error for one of those.
   */
  function fail(socket: Socket, explain: () => void): void {
    const connection = connections.get(socket);
    if (!connection || connection.failed || connection.stopLingering) return;
    connection.failed = true;
    if (isOwedAnswers(connection)) return;
    explain();
    linger(socket);
  }

  /** Closes our side, and destroys the connection soon after, whatever the client does. */
  function linger(socket: Socket): void {
    const connection = connections.get(socket);
    if (!connection || connection.stopLingering) return;
    connection.stopLingering = clock.after(LINGER_MS, () => socket.destroy());
    socket.end();
  }

  /** Destroys one at once. */
  function cut(socket: Socket): void {
    socket.destroy();
    // At once, and not at its `close` event: many new connections in one turn must not all find the list full.
    forget(socket);
  }

  function forget(socket: Socket): void {
    const connection = connections.get(socket);
    if (!connection) return;
    connections.delete(socket);
    connection.stopLingering?.();
  }
}

/** Whether it waits for answers, apart from the request that is just arriving. */
function isOwedAnswers(connection: Connection): boolean {
  return connection.inFlight > (isReceiving(connection) ? 1 : 0);
}

/** Whether its latest request is still arriving. */
export function isReceiving({ inFlight, latest }: Connection): boolean {
  return inFlight > 0 && latest?.request.complete === false;
}
