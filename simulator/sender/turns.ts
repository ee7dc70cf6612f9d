import type { Socket } from "node:net";
import { setImmediate } from "node:timers";

export type Turns = ReturnType<typeof createTurns>;

/** The maximum size of pieces of ordinary answers. */
const SMALL_BYTES = 16 * 1024;

/** Reads flooding connections one piece a turn of the event loop, so that deadlines hold and others are served. */
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
    /** Whether `bytes` can be read in this turn; otherwise they arrive again in a turn when they can. */
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
