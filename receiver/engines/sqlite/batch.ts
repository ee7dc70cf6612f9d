import type { NewEvent } from "../../engine.ts";

/** A batch of events as it goes from thread to thread: their bodies end to end in one buffer, which is moved, not copied. */
export type PackedBatch = { heads: Omit<NewEvent, "body">[]; ends: number[]; bodies: ArrayBuffer };

/** Copies each body once. What a request left in a pool of buffers would otherwise be copied with the whole pool. */
export function packBatch(batch: readonly NewEvent[]): PackedBatch {
  const ends: number[] = [];
  let end = 0;
  for (const { body } of batch) ends.push((end += body.byteLength));
  const bytes = new Uint8Array(end);
  const heads = batch.map(({ body, ...head }, index) => {
    bytes.set(body, (ends[index] ?? 0) - body.byteLength);
    return head;
  });
  return { heads, ends, bodies: bytes.buffer };
}

export function unpackBatch({ heads, ends, bodies }: PackedBatch): NewEvent[] {
  return heads.map((head, index) => {
    const start = ends[index - 1] ?? 0;
    return { ...head, body: new Uint8Array(bodies, start, (ends[index] ?? start) - start) };
  });
}
