import type { Socket } from "node:net";
import { setImmediate } from "node:timers";

export type Turns = ReturnType<typeof createTurns>;

/** Ordinary answers come in pieces up to this size. */
const SMALL_BYTES = 16 * 1024;

/**
 * Lets connections that flood us be read one after the other, one piece in a turn of the event loop: however many they are,
 * deadlines are kept and everybody else is served in between.
 */
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
    /** Reads no more from `socket` until it is its turn. */
    giveWay,
    /**
     * Whether `bytes`, which have just come from `socket`, can be read in this turn. If not, they come again when it is their
     * turn; then they can.
     */
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
