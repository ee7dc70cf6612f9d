import type { IncomingMessage } from "node:http";

/** Bytes of bodies that are arriving, over all connections. */
const MAXIMUM_ARRIVING_BYTES = 64 * 1_048_576;

/** A body in more pieces than this is refused if they are smaller on average. */
const MAXIMUM_PIECES = 4_096;
const SMALLEST_PIECE_BYTES = 16;

export type Body = { ok: true; bytes: Uint8Array } | { ok: false; problem: BodyProblem };

/**
 * `in_pieces`: so many and so small pieces that they cost more than what they hold. `overloaded`: too much was arriving at once, and this body was the largest. `already_read`: something
 * in front of the receiver has read the body and kept none of its bytes.
 */
export type BodyProblem = "too_large" | "in_pieces" | "incomplete" | "overloaded" | "already_read";

/** A request as node:http gives it, and what body parsers of frameworks may have added to it. */
export type NodeRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

/** A body that is still arriving. */
type Arriving = { bytes: number; evict: () => void };

export type BodyReader = {
  ofNode: (request: NodeRequest) => Promise<Body>;
  /** For a body that comes piece by piece: `take` each of them, and `end` it. */
  collect: (settle: (body: Body) => void) => {
    take: (piece: Uint8Array) => void;
    end: (isWhole: boolean) => void;
  };
};

/**
 * Reads bodies as they were sent, byte for byte, and bounds what unknown senders can make us hold: when too much arrives
 * at once, the largest is given up, so that ordinary events, which are small, get through.
 */
export function createBodyReader(options: {
  maxBodyBytes: number;
  maximumArrivingBytes?: number | undefined;
}): BodyReader {
  const { maxBodyBytes, maximumArrivingBytes: maximum = MAXIMUM_ARRIVING_BYTES } = options;
  const bodies = new Set<Arriving>();
  let totalBytes = 0;

  return {
    ofNode: async (request) => {
      const raw = [request.rawBody, request.body].find((body) => body instanceof Uint8Array);
      if (raw) return raw.byteLength > maxBodyBytes ? TOO_LARGE : { ok: true, bytes: raw };
      if (request.readableDidRead) return { ok: false, problem: "already_read" };
      return new Promise((resolve) => {
        const { take, end } = collect((body) => {
          // What is left of a body that failed is read and forgotten, so that the answer gets through.
          if (body === IN_PIECES) request.pause();
          resolve(body);
        });
        request.on("data", take);
        const over = (): void => end(request.readableEnded);
        request.once("end", over).once("close", over);
        // Neither event comes again where the client left, or an empty body was read, before the request came here.
        if (request.readableEnded || request.destroyed) over();
      });
    },
    collect,
  };

  function collect(settle: (body: Body) => void) {
    const arriving: Arriving = { bytes: 0, evict: () => finish({ ok: false, problem: "overloaded" }) };
    /** With room for what is still to come, so that small pieces are not kept as so many objects. */
    let gathered: Uint8Array | undefined = new Uint8Array();
    let pieces = 0;
    bodies.add(arriving);
    return {
      take: (piece: Uint8Array): void => {
        if (!gathered) return;
        const before = arriving.bytes;
        const bytes = before + piece.byteLength;
        pieces += 1;
        if (bytes > maxBodyBytes) return finish(TOO_LARGE);
        if (pieces > MAXIMUM_PIECES && bytes < pieces * SMALLEST_PIECE_BYTES) return finish(IN_PIECES);
        if (before === 0) gathered = piece;
        else {
          if (bytes > gathered.byteLength) gathered = enlarged(gathered, Math.max(bytes, 2 * before));
          gathered.set(piece, before);
        }
        grow(arriving, piece.byteLength);
      },
      end: (isWhole: boolean): void =>
        finish(isWhole && gathered ? { ok: true, bytes: gathered.subarray(0, arriving.bytes) } : INCOMPLETE),
    };

    function finish(body: Body): void {
      if (!gathered) return;
      gathered = undefined;
      bodies.delete(arriving);
      totalBytes -= arriving.bytes;
      settle(body);
    }
  }

  function grow(arriving: Arriving, bytes: number): void {
    arriving.bytes += bytes;
    totalBytes += bytes;
    // One is enough: it is at least as large as what has come just now.
    if (totalBytes > maximum) largest(arriving).evict();
  }

  /** Among the largest, the one that began first. */
  function largest(most: Arriving): Arriving {
    for (const one of [...bodies].toReversed()) if (one.bytes >= most.bytes) most = one;
    return most;
  }
}

function enlarged(bytes: Uint8Array, size: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(size);
  larger.set(bytes);
  return larger;
}

const TOO_LARGE: Body = { ok: false, problem: "too_large" };
const INCOMPLETE: Body = { ok: false, problem: "incomplete" };
const IN_PIECES: Body = { ok: false, problem: "in_pieces" };
