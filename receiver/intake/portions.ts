import type { Socket } from "node:net";

/** Room for an ordinary event with its headers. */
const PORTION_BYTES = 4_096;

/**
 * Has the HTTP parser, which is listening on `socket` already, get what is read in portions. The 64 KB that are read at
 * once can be two thousand requests, and nothing would stop it in the midst of them: not even the end of the connection.
 */
export function parseInPortions(socket: Socket): void {
  const parsers = socket.listeners("data");
  socket.removeAllListeners("data");
  socket.on("data", (bytes: Buffer) => {
    for (let at = 0; at < bytes.length && !socket.destroyed; at += PORTION_BYTES) {
      const portion = bytes.subarray(at, at + PORTION_BYTES);
      for (const parse of parsers) Reflect.apply(parse, socket, [portion]);
    }
    release(bytes);
  });
}

/**
 * Gives back at once what `bytes` occupy, which are not looked at any more. Left to the garbage collector, which waits
 * for a hundred megabytes of it, bodies that arrive cost more than those that are kept.
 */
export function release(bytes: Buffer): void {
  // What Node reads and what its parser passes on has a buffer of its own; a part of another's is not ours to take.
  if (bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer)
    bytes.buffer.transfer(0);
}
