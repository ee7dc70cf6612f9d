import { setImmediate } from "node:timers";
import type { WallTime } from "../domain/wall-time.ts";
import type { AnswerHead } from "./answer-head.ts";
import type { Connection } from "./connection.ts";

type Idle = { connection: Connection; untilMs: number };

/** A kept connection is not used in the last second of the receiver's promise: a request takes a while to get there. */
const SPARE_MS = 1_000;
const LONGEST_MS = 60_000;
const MOST_IDLE_PER_ORIGIN = 64;

/**
 * Connections that wait for the next request. One is handed out only while the receiver's own promise to keep it lasts
 * (with a second to spare), and not before the event loop has had a look at it since its last answer: one that was closed
 * meanwhile is gone by then, and can fail nobody.
 */
export function createPool(options: { wall: WallTime }) {
  const { wall } = options;
  const idle = new Map<string, Idle[]>();

  return {
    /** One that can be used for `url`, the one that rested least. */
    take(url: URL): Connection | undefined {
      const waiting = idle.get(url.origin) ?? [];
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (next.connection.isOpen() && wall.monotonicMs() < next.untilMs) {
          next.connection.ref();
          return next.connection;
        }
        next.connection.destroy();
      }
      return undefined;
    },
    /** Takes one back whose answer is whole; it is handed out again within `keptMs`, or never. */
    give(url: URL, connection: Connection, keptMs: number): void {
      const untilMs = wall.monotonicMs() + Math.min(LONGEST_MS, keptMs);
      // A process that has nothing else to do is not kept alive by what it might do.
      connection.unref();
      setImmediate(() => {
        const waiting = idle.get(url.origin) ?? [];
        if (!connection.isOpen() || waiting.length >= MOST_IDLE_PER_ORIGIN) return connection.destroy();
        idle.set(url.origin, [...waiting, { connection, untilMs }]);
      });
    },
  };
}

/** How long the receiver promises to keep the connection (`Keep-Alive: timeout=5`), less what is to spare; 0 without. */
export function promisedMs({ headers }: AnswerHead): number {
  const promise = headers.find(([name]) => name === "keep-alive")?.[1] ?? "";
  const [, seconds] = /(?:^|[,\s])timeout=(\d{1,6})/.exec(promise) ?? [];
  return Math.max(0, Number(seconds ?? 0) * 1000 - SPARE_MS);
}
