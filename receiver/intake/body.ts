import type { IncomingMessage } from "node:http";

/** Bytes of bodies that may be in memory while they arrive, over all connections; some of it for small ones alone. */
const MAXIMUM_HELD_BYTES = 64 * 1_048_576;
const RESERVED_PART = 1 / 4;
const SMALL_BYTES = 64 * 1_024;

const EMPTY = Buffer.alloc(0);

/** The least that is set aside for a body which comes in pieces. */
const SMALLEST_BUFFER_BYTES = 4_096;

export type Body = { ok: true; bytes: Buffer } | { ok: false; problem: BodyProblem };

/** `gave_way`: too much was arriving at once, and this body had been on its way for the longest. */
export type BodyProblem = "too_large" | "incomplete" | "gave_way";

export type BodyReader = (request: IncomingMessage) => Promise<Body>;

type Reading = { heldBytes: number; giveWay: () => void };

/** The length of its body as a request announces it; undefined when it comes in chunks. */
export function announcedBytes(request: IncomingMessage): number | undefined {
  const length = request.headers["content-length"];
  return length === undefined ? undefined : Number(length);
}

/**
 * Reads bodies as they are, and keeps what unknown senders can make us hold within a bound. When that is reached the
 * body that takes longest gives way, a large one before a small one, so that slow senders can't keep others out. What
 * is left of a body that failed is read and forgotten.
 */
export function createBodyReader(options: {
  maxBodyBytes: number;
  maximumHeldBytes?: number | undefined;
}): BodyReader {
  const maximumBytes = options.maximumHeldBytes ?? MAXIMUM_HELD_BYTES;
  // In the order in which they came: the first of each has been on its way for the longest.
  const small = new Set<Reading>();
  const large = new Set<Reading>();
  let heldBytes = 0;
  let largeBytes = 0;

  return async (request) =>
    new Promise((resolve) => {
      const expectedBytes = Math.min(announcedBytes(request) ?? Infinity, options.maxBodyBytes);
      let buffer: Buffer = EMPTY;
      let lengthBytes = 0;
      const reading: Reading = {
        heldBytes: 0,
        giveWay: () => finish({ ok: false, problem: "gave_way" }),
      };
      small.add(reading);
      request.on("data", take);
      request.once("end", end);
      request.once("close", close);

      function take(chunk: Buffer): void {
        const totalBytes = lengthBytes + chunk.length;
        if (totalBytes > options.maxBodyBytes) return finish({ ok: false, problem: "too_large" });
        // Most bodies come in one piece, which is then the body.
        if (lengthBytes === 0) buffer = chunk;
        else {
          if (totalBytes > buffer.length) buffer = grown(buffer, { totalBytes, expectedBytes });
          chunk.copy(buffer, lengthBytes);
        }
        lengthBytes = totalBytes;
        hold(reading, buffer.length);
      }

      function end(): void {
        finish({ ok: true, bytes: buffer.subarray(0, lengthBytes) });
      }

      function close(): void {
        finish({ ok: false, problem: "incomplete" });
      }

      function finish(body: Body): void {
        request.off("data", take).off("end", end).off("close", close);
        forget(reading);
        resolve(body);
      }
    });

  function hold(reading: Reading, bytes: number): void {
    count(reading, bytes);
    const [oldestLarge] = large;
    if (largeBytes > maximumBytes * (1 - RESERVED_PART)) oldestLarge?.giveWay();
    if (heldBytes <= maximumBytes) return;
    const [oldest] = large.size > 0 ? large : small;
    oldest?.giveWay();
  }

  function count(reading: Reading, bytes: number): void {
    heldBytes += bytes - reading.heldBytes;
    if (large.has(reading)) largeBytes += bytes - reading.heldBytes;
    else if (bytes > SMALL_BYTES) {
      small.delete(reading);
      large.add(reading);
      largeBytes += bytes;
    }
    reading.heldBytes = bytes;
  }

  function forget(reading: Reading): void {
    heldBytes -= reading.heldBytes;
    if (large.delete(reading)) largeBytes -= reading.heldBytes;
    small.delete(reading);
    reading.heldBytes = 0;
  }
}

/** Twice what is needed, so that a body of many small pieces isn't copied for each; never more than is expected. */
function grown(
  buffer: Buffer,
  { totalBytes, expectedBytes }: { totalBytes: number; expectedBytes: number },
): Buffer {
  const bytes = Math.max(
    totalBytes,
    Math.min(Math.max(2 * totalBytes, SMALLEST_BUFFER_BYTES), expectedBytes),
  );
  const larger = Buffer.allocUnsafeSlow(bytes);
  buffer.copy(larger);
  return larger;
}
