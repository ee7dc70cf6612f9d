import type { Socket } from "node:net";
import { setImmediate } from "node:timers";

export type Turns = ReturnType<typeof createTurns>;

/** Ordinary answers come in pieces up to this size. */
const SMALL_BYTES = 16 * 1024;

/** Reads connections that flood us one piece a turn of the event loop, so that deadlines are kept and others served. */
export function createTurns() {
  const waiting: Socket[] = [];
  let isTaken = false;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(begin);
  }

  function begin(): void {
    isScheduled = false;
    isTaken = false;
    waiting.shift()?.resume();
    if (waiting.length > 0) schedule();
  }

  function giveWay(socket: Socket): void {
    socket.pause();
    waiting.push(socket);
    schedule();
  }

  return {
    giveWay,
    /** Whether `bytes` can be read in this turn; otherwise they come again, and then they can. */
    take(socket: Socket, bytes: Buffer): boolean {
      if (bytes.byteLength <= SMALL_BYTES) return true;
      if (isTaken) {
        giveWay(socket);
        socket.unshift(bytes);
        return false;
      }
      isTaken = true;
      schedule();
      return true;
    },
  };
}
