/** Room for an ordinary event with its headers. */
const PORTION_BYTES = 4_096;

/** A connection of node:http, whose parser is the one that listens for data. */
type Connection = NodeJS.EventEmitter & { readonly destroyed: boolean };

/**
 * Has the HTTP parser of a new connection read 4 KB at a time, and nothing more once `isOver`. The 64 KB that arrive at
 * once can be two thousand requests, and nothing else stops the parser among them.
 */
export function parseInPortions(socket: Connection, isOver: () => boolean): void {
  const parsers = socket.listeners("data");
  socket.removeAllListeners("data");
  socket.on("data", (bytes: Buffer) => {
    for (let at = 0; at < bytes.length && !socket.destroyed && !isOver(); at += PORTION_BYTES) {
      const portion = bytes.subarray(at, at + PORTION_BYTES);
      for (const parse of parsers) Reflect.apply(parse, socket, [portion]);
    }
    release(bytes);
  });
}

/**
 * Frees the memory of `bytes` at once; they are not read any more. The garbage collector waits until there are about a
 * hundred megabytes, so that bodies that arrive would cost more than those that are kept.
 */
export function release(bytes: Buffer): void {
  // Node's reads have a buffer of their own. A part of a larger buffer may still be used by others.
  if (bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer)
    bytes.buffer.transfer(0);
}
