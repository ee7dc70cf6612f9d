/** A body that goes out piece by piece: cut in front of the bytes with these numbers, with a pause at each cut. */
export type Pieces = { cutAt: number[]; pauseMs: number };

/** `bytes` as `pieces` cuts it; what lies beyond its end cuts nothing. */
export function cutUp(bytes: Buffer, { cutAt }: Pieces): Buffer[] {
  const starts = [0, ...cutAt];
  return starts
    .map((start, index) => bytes.subarray(start, starts[index + 1]))
    .filter((piece) => piece.length > 0);
}

/** One shell command that writes what the command `body` writes in the same pieces. */
export function shellPieces({ cutAt, pauseMs }: Pieces): string {
  const starts = [0, ...cutAt];
  const commands = starts.map((start, index) => {
    const end = starts[index + 1];
    const from = start === 0 ? "" : ` | tail -c +${start + 1}`;
    return `body${from}${end === undefined ? "" : ` | head -c ${end - start}`}`;
  });
  return `{ ${commands.join(`; sleep ${pauseMs / 1_000}; `)}; }`;
}
