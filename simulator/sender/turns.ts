import type { Socket } from "node:net";

export type Turns = ReturnType<typeof createTurns>;

/**
 * Lets connections that flood us be read one after the other, one piece in a turn of the event loop: however many they are,
 * deadlines are kept and everybody else is served in between.
 */
export function createTurns() {
  const waiting: Socket[] = [];

  function next(): void {
    waiting.shift()?.resume();
    if (waiting.length > 0) setImmediate(next);
  }

  return {
    /** Reads no more from `socket` until it is its turn. */
    giveWay(socket: Socket): void {
      socket.pause();
      waiting.push(socket);
      if (waiting.length === 1) setImmediate(next);
    },
  };
}
