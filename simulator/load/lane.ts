import { type Connection, openConnection } from "../sender/connection.ts";
import { classifyError } from "../sender/outcome.ts";
import type { AnswerHead } from "../sender/answer-head.ts";
import type { Turns } from "../sender/turns.ts";

/** How a request ended: a status, or a word for what went wrong. */
export type Ending = number | string;

/** A kept connection is not used in the last second of the receiver's keep-alive, since a request takes a while to arrive. */
const SPARE_MS = 1_000;
/** Without a keep-alive of the receiver, a connection idle for longer than this is not used again. */
const RESTED_MS = 500;

/** One connection with one request at a time; reopened if the receiver closes it. */
export function createLane(options: {
  url: URL;
  allowedHosts: readonly string[];
  turns: Turns;
  timeoutMs: number;
  nowMs: () => number;
}) {
  const { url, allowedHosts, turns, nowMs } = options;
  let connection: Connection | undefined;
  let usableUntilMs = 0;
  let onEnd: ((ending: Ending) => void) | undefined;
  let sentAtMs = 0;
  let status = 0;
  let keptMs = 0;

  function end(ending: Ending): void {
    const report = onEnd;
    onEnd = undefined;
    report?.(ending);
  }

  const exchange = {
    onHead(head: AnswerHead): void {
      status = head.status;
      keptMs = promisedMs(head) || RESTED_MS;
    },
    onBody: () => {},
    onWhole(kept: boolean): void {
      if (kept) usableUntilMs = nowMs() + keptMs;
      else drop();
      end(status < 200 ? "protocol" : status);
    },
    onFailure({ error }: { error: string }): void {
      drop();
      // A received status is final, even if the body fails (SPEC §6 Retry policy).
      end(status >= 200 ? status : error);
    },
  };

  function drop(): void {
    connection?.destroy();
    connection = undefined;
  }

  function open(): Connection | undefined {
    try {
      return openConnection({ url, allowedHosts, turns });
    } catch (error) {
      // Not at once: the caller may send again from its callback.
      setImmediate(() => exchange.onFailure(classifyError(error)));
      return undefined;
    }
  }

  return {
    /** Sends a request; calls `then` once, when its answer is complete or has failed. */
    send(bytes: Buffer, then: (ending: Ending) => void): void {
      onEnd = then;
      status = 0;
      sentAtMs = nowMs();
      if (connection?.isOpen() !== true || sentAtMs > usableUntilMs) {
        drop();
        connection = open();
      }
      const own = connection;
      if (own === undefined) return;
      own.begin(exchange);
      own.whenReady(() => void own.write(bytes));
    },
    endLate(): void {
      if (onEnd === undefined || nowMs() - sentAtMs < options.timeoutMs) return;
      drop();
      end("timeout");
    },
    /** Closes the connection, without calling the callback of a request under way. */
    close(): void {
      onEnd = undefined;
      drop();
    },
  };
}

/** How long the receiver keeps the connection (`Keep-Alive: timeout=5`), less a margin; 0 if it does not say. */
function promisedMs({ headers }: AnswerHead): number {
  const promise = headers.find(([name]) => name === "keep-alive")?.[1] ?? "";
  const [, seconds] = /(?:^|[,\s])timeout=(\d{1,6})/.exec(promise) ?? [];
  return Math.max(0, Number(seconds ?? 0) * 1000 - SPARE_MS);
}
