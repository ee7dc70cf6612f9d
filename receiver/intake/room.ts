/** Bytes that bodies may take up while they arrive, over all connections; some of it is for small ones alone. */
const MAXIMUM_HELD_BYTES = 64 * 1_048_576;
const RESERVED_PART = 1 / 4;
const SMALL_BYTES = 64 * 1_024;

/** As much as the parser gets at a time. */
const BLOCK_BYTES = 4_096;

/** What has come of one body. */
export type Guest = {
  /** Keeps a copy. Whoever must make room for it hears `giveWay` before this returns, and that may be itself. */
  add: (piece: Buffer) => void;
  /** All that was added, in a buffer of its own. */
  whole: () => Buffer;
  leave: () => void;
};

type Stay = { blocks: number[]; giveWay: () => void };

/**
 * The memory for bodies on their way. When it is full, the body that takes longest gives way, a large one before a small
 * one, so that slow senders can't keep others out.
 */
export function createRoom(maximumBytes = MAXIMUM_HELD_BYTES): { enter: (giveWay: () => void) => Guest } {
  const blockCount = Math.floor(maximumBytes / BLOCK_BYTES);
  const mostOfLarge = Math.floor(blockCount * (1 - RESERVED_PART));
  // One piece for all of them: each growing in buffers of its own, they left several times their size behind, in holes
  // that nothing else fits into. The system hands out a page of it when it is first written to.
  const memory = Buffer.allocUnsafeSlow(blockCount * BLOCK_BYTES);
  const free = Array.from({ length: blockCount }, (_, at) => blockCount - 1 - at);
  // In the order in which they came: the first of each has been on its way for the longest.
  const small = new Set<Stay>();
  const large = new Set<Stay>();
  let ofLarge = 0;

  return { enter };

  function enter(giveWay: () => void): Guest {
    const stay: Stay = { blocks: [], giveWay };
    let lengthBytes = 0;
    small.add(stay);

    return { add, whole, leave: () => leave(stay) };

    function add(piece: Buffer): void {
      for (let at = 0; at < piece.length;) {
        const within = lengthBytes % BLOCK_BYTES;
        if (within === 0) makeRoom(stay);
        const block = stay.blocks.at(-1);
        // It was itself that gave way.
        if (block === undefined) return;
        const copied = piece.copy(memory, block * BLOCK_BYTES + within, at, at + BLOCK_BYTES - within);
        at += copied;
        lengthBytes += copied;
      }
    }

    function whole(): Buffer {
      const bytes = Buffer.allocUnsafeSlow(lengthBytes);
      for (const [at, block] of stay.blocks.entries())
        memory.copy(bytes, at * BLOCK_BYTES, block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES);
      return bytes;
    }
  }

  /** For one more block. */
  function makeRoom(stay: Stay): void {
    if (small.has(stay) && (stay.blocks.length + 1) * BLOCK_BYTES > SMALL_BYTES) {
      small.delete(stay);
      large.add(stay);
      ofLarge += stay.blocks.length;
    }
    if (large.has(stay) && ofLarge >= mostOfLarge) expel(large);
    if (free.length === 0) expel(large.size > 0 ? large : small);
    const isHere = large.has(stay) || small.has(stay);
    const block = isHere ? free.pop() : undefined;
    if (block === undefined) return;
    stay.blocks.push(block);
    if (large.has(stay)) ofLarge += 1;
  }

  function expel([oldest]: ReadonlySet<Stay>): void {
    if (!oldest) return;
    leave(oldest);
    oldest.giveWay();
  }

  function leave(stay: Stay): void {
    if (large.delete(stay)) ofLarge -= stay.blocks.length;
    small.delete(stay);
    free.push(...stay.blocks);
    stay.blocks = [];
  }
}
