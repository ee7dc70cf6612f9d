import type { IncomingMessage } from "node:http";

/** Bytes of bodies that are arriving, over all connections; some of it is for small ones alone. */
const MAXIMUM_ARRIVING_BYTES = 64 * 1_048_576;
const RESERVED_PART = 1 / 4;
const SMALL_BYTES = 64 * 1_024;

export type Body = { ok: true; bytes: Uint8Array } | { ok: false; problem: BodyProblem };

/**
 * `overloaded`: too much was arriving at once, and this body had been arriving for the longest. `already_read`: something
 * in front of the receiver has read the body and kept none of its bytes.
 */
export type BodyProblem = "too_large" | "incomplete" | "overloaded" | "already_read";

/** A request as node:http gives it, and what body parsers of frameworks may have added to it. */
export type NodeRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

/** A body that is still arriving. */
type Arriving = { bytes: number; evict: () => void };

export type BodyReader = {
  ofNode: (request: NodeRequest) => Promise<Body>;
  ofFetch: (request: Request) => Promise<Body>;
};

/**
 * Reads bodies as they were sent, byte for byte, and bounds what unknown senders can make us hold: when too much arrives
 * at once, the body that has been arriving for the longest is given up, a large one before a small one.
 */
export function createBodyReader(options: {
  maxBodyBytes: number;
  maximumArrivingBytes?: number | undefined;
}): BodyReader {
  const { maxBodyBytes, maximumArrivingBytes: maximum = MAXIMUM_ARRIVING_BYTES } = options;
  // In the order in which they began.
  const small = new Set<Arriving>();
  const large = new Set<Arriving>();
  let totalBytes = 0;
  let largeBytes = 0;

  return {
    ofNode: async (request) => {
      const raw = [request.rawBody, request.body].find((body) => body instanceof Uint8Array);
      if (raw) return raw.byteLength > maxBodyBytes ? TOO_LARGE : { ok: true, bytes: raw };
      if (request.readableDidRead) return { ok: false, problem: "already_read" };
      return new Promise((resolve) => {
        const { take, end } = collect(resolve);
        // What is left of a body that failed is read and forgotten, so that the answer gets through.
        request.on("data", take);
        request.once("end", () => end(true));
        request.once("close", () => end(false));
      });
    },
    ofFetch: async (request) => {
      // Frameworks read a body of known length several times faster than they make a stream of it.
      if (request.headers.has("content-length")) return wholeOf(request);
      if (request.bodyUsed) return { ok: false, problem: "already_read" };
      if (!request.body) return { ok: true, bytes: new Uint8Array() };
      const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
      return new Promise((resolve) => {
        const { take, end } = collect((body) => {
          resolve(body);
          if (!body.ok) reader.cancel().catch(() => undefined);
        });
        const read = async (): Promise<void> => {
          for (;;) {
            const piece = await reader.read();
            if (piece.done) return end(true);
            take(piece.value);
          }
        };
        read().catch(() => end(false));
      });
    },
  };

  /** A body whose length was announced, and is within the limit. What of it is arriving is held by the framework. */
  async function wholeOf(request: Request): Promise<Body> {
    try {
      const bytes = new Uint8Array(await request.arrayBuffer());
      return bytes.byteLength > maxBodyBytes ? TOO_LARGE : { ok: true, bytes };
    } catch (error) {
      const isRead = error instanceof TypeError && !request.signal.aborted;
      return { ok: false, problem: isRead ? "already_read" : "incomplete" };
    }
  }

  function collect(settle: (body: Body) => void) {
    const arriving: Arriving = { bytes: 0, evict: () => finish({ ok: false, problem: "overloaded" }) };
    let pieces: Uint8Array[] | undefined = [];
    small.add(arriving);
    return {
      take: (piece: Uint8Array): void => {
        if (!pieces) return;
        if (arriving.bytes + piece.byteLength > maxBodyBytes) return finish(TOO_LARGE);
        pieces.push(piece);
        grow(arriving, piece.byteLength);
      },
      end: (isWhole: boolean): void => {
        const [first = new Uint8Array(), ...others] = pieces ?? [];
        const bytes = others.length === 0 ? first : Buffer.concat([first, ...others]);
        finish(isWhole ? { ok: true, bytes } : { ok: false, problem: "incomplete" });
      },
    };

    function finish(body: Body): void {
      if (!pieces) return;
      pieces = undefined;
      leave(arriving);
      settle(body);
    }
  }

  function grow(arriving: Arriving, bytes: number): void {
    const wasLarge = large.has(arriving);
    arriving.bytes += bytes;
    totalBytes += bytes;
    if (!wasLarge && arriving.bytes > SMALL_BYTES) {
      small.delete(arriving);
      large.add(arriving);
    }
    if (large.has(arriving)) largeBytes += wasLarge ? bytes : arriving.bytes;
    while (isOverfull()) {
      const [oldest] = large.size > 0 ? large : small;
      oldest?.evict();
    }
  }

  function isOverfull(): boolean {
    return largeBytes > maximum * (1 - RESERVED_PART) || totalBytes > maximum;
  }

  function leave(arriving: Arriving): void {
    totalBytes -= arriving.bytes;
    if (large.delete(arriving)) largeBytes -= arriving.bytes;
    small.delete(arriving);
  }
}

const TOO_LARGE: Body = { ok: false, problem: "too_large" };
