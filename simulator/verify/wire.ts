import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createAnswerParser, type Answer } from "./answer-parser.ts";

/** Where a receiver listens. */
export type Target = {
  url: string;
  hostname: string;
  port: number;
  secure: boolean;
  path: string;
  host: string;
};

/** How one request ended, as the sender saw it. */
export type Outcome = ({ kind: "answered" } & Answer) | NoAnswer;

export type NoAnswer = {
  kind: "no_answer";
  error: "dns" | "refused" | "tls" | "reset" | "closed" | "timeout" | "protocol" | "cut";
  message: string;
};

/** One connection to a receiver, written to byte by byte. Every method may be called in any state. */
export type WireConnection = {
  /** Whether the connection could be made; if not, every answer() says why. */
  readonly connected: boolean;
  /** Resolves when the bytes are on their way, or when waiting for a receiver that does not read is of no use. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends our side, as a client does that only waits for the answer. */
  halfClose(): void;
  /** Cuts the connection with a TCP reset. */
  reset(): void;
  close(): void;
  /** The next final answer, with its body as far as it arrives within `bodyMs` (250 ms) of the headers. */
  answer(options?: { timeoutMs?: number; bodyMs?: number }): Promise<Outcome>;
  /** Resolves when an interim answer such as 100 arrived, or after `withinMs`. */
  interim(withinMs: number): Promise<number | undefined>;
};

export function parseTarget(url: string): Target {
  const parsed = new URL(url);
  const secure = parsed.protocol === "https:";
  return {
    url,
    hostname: parsed.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port),
    secure,
    path: parsed.pathname + parsed.search,
    host: parsed.host,
  };
}

/** A connection that a check forgot is cut after so many times its time limit. */
const LIFETIME_LIMITS = 3;

/**
 * Connects to `target`; answers are due `timeoutMs` after this call unless told otherwise, and writing ends then, too.
 * What is read of an answer is bounded in bytes. Never throws.
 */
export async function openWire(target: Target, timeoutMs: number): Promise<WireConnection> {
  const startedAt = performance.now();
  const parser = createAnswerParser();
  let failure: NoAnswer | undefined;
  const waiters = new Set<() => void>();
  const changed = (): void => {
    for (const wake of waiters) wake();
  };

  const socket = connect(target);
  socket.setNoDelay(true);
  socket.on("data", (chunk: Buffer) => {
    parser.feed(chunk);
    // An endless answer is not read to its end.
    if (parser.isSated()) socket.destroy();
    changed();
  });
  socket.on("end", () => {
    parser.end();
    failure ??= noAnswer("closed", "The receiver closed the connection without a complete answer.");
    changed();
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    failure ??= explain(error);
    changed();
  });
  socket.on("close", () => {
    parser.end();
    failure ??= noAnswer("closed", "The connection was closed without a complete answer.");
    changed();
  });

  /** Waits until `ready` or the point in time `dueAt`; true when ready. */
  async function until(ready: () => boolean, dueAt: number): Promise<boolean> {
    while (!ready()) {
      const leftMs = dueAt - performance.now();
      if (leftMs <= 0) return false;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiters.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, leftMs);
        waiters.add(wake);
      });
    }
    return true;
  }

  const connected = await connectedWithin(socket, target, timeoutMs);
  if (!connected) {
    failure ??= noAnswer("timeout", `No connection within ${timeoutMs / 1_000} s.`);
    socket.destroy();
  }

  const lifetime = setTimeout(() => socket.destroy(), LIFETIME_LIMITS * timeoutMs).unref();
  socket.once("close", () => clearTimeout(lifetime));

  return {
    connected,
    async write(bytes) {
      if (!socket.writable || bytes.byteLength === 0) return;
      let isFlushed = false;
      socket.write(bytes, () => {
        isFlushed = true;
        changed();
      });
      // A receiver may have answered, and read no further.
      const isOver = (): boolean => isFlushed || parser.headersArrived() || failure !== undefined;
      await until(isOver, startedAt + timeoutMs);
    },
    halfClose: () => void socket.end(),
    reset() {
      failure ??= noAnswer("cut", "The connection was cut on purpose before an answer.");
      if (socket.connecting || target.secure) socket.destroy();
      else socket.resetAndDestroy();
    },
    close: () => void socket.destroy(),
    async answer({ timeoutMs: withinMs = timeoutMs, bodyMs = 250 } = {}) {
      const dueAt = withinMs === timeoutMs ? startedAt + timeoutMs : performance.now() + withinMs;
      await until(
        () => parser.headersArrived() || parser.broken() !== undefined || failure !== undefined,
        dueAt,
      );
      const broken = parser.broken();
      if (broken !== undefined) return noAnswer("protocol", broken);
      if (!parser.headersArrived()) {
        return failure ?? noAnswer("timeout", `No answer within ${withinMs / 1_000} s.`);
      }
      await until(() => parser.done() || failure !== undefined, performance.now() + bodyMs);
      return { kind: "answered", ...parser.take() };
    },
    async interim(withinMs) {
      await until(() => parser.interim().length > 0 || failure !== undefined, performance.now() + withinMs);
      return parser.interim()[0];
    },
  };
}

function connect(target: Target): Socket {
  const { hostname: host, port } = target;
  if (!target.secure) return connectTcp({ host, port });
  return connectTls({ host, port, servername: isIP(host) === 0 ? host : undefined });
}

function connectedWithin(socket: Socket, target: Target, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    const settle = (connected: boolean): void => {
      clearTimeout(timer);
      resolve(connected);
    };
    socket.once(target.secure ? "secureConnect" : "connect", () => settle(true));
    socket.once("close", () => settle(false));
  });
}

function explain(error: NodeJS.ErrnoException): NoAnswer {
  // With several addresses (localhost) the causes are inside; the last is as good as any.
  const inner: unknown = error instanceof AggregateError ? error.errors.at(-1) : undefined;
  const cause: NodeJS.ErrnoException = inner instanceof Error ? inner : error;
  const code = cause.code ?? "";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return noAnswer("dns", `The host name is unknown (${code}).`);
  if (code === "ECONNREFUSED") return noAnswer("refused", "Nothing listens there (connection refused).");
  if (code === "ECONNRESET" || code === "EPIPE") {
    return noAnswer("reset", "The receiver cut the connection before it answered.");
  }
  if (code.startsWith("ERR_TLS") || code.startsWith("ERR_SSL") || /CERT|SELF_SIGNED|SSL/.test(code)) {
    return noAnswer("tls", `TLS failed: ${cause.message}`);
  }
  return noAnswer(code === "ETIMEDOUT" ? "timeout" : "refused", `No connection: ${cause.message}`);
}

function noAnswer(error: NoAnswer["error"], message: string): NoAnswer {
  return { kind: "no_answer", error, message };
}
