import type { IncomingMessage } from "node:http";

/** Bytes of bodies that are arriving, over all connections. */
const MAXIMUM_ARRIVING_BYTES = 64 * 1_048_576;

export type Body = { ok: true; bytes: Uint8Array } | { ok: false; problem: BodyProblem };

/**
 * `overloaded`: too much was arriving at once, and this body was the largest. `already_read`: something
 * in front of the receiver has read the body and kept none of its bytes.
 */
export type BodyProblem = "too_large" | "incomplete" | "overloaded" | "already_read";

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
        const { take, end } = collect(resolve);
        // What is left of a body that failed is read and forgotten, so that the answer gets through.
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
    let pieces: Uint8Array[] | undefined = [];
    bodies.add(arriving);
    return {
      take: (piece: Uint8Array): void => {
        if (!pieces) return;
        if (arriving.bytes + piece.byteLength > maxBodyBytes) return finish(TOO_LARGE);
        pieces.push(piece);
        grow(arriving, piece.byteLength);
      },
      end: (isWhole: boolean): void =>
        finish(isWhole ? { ok: true, bytes: Buffer.concat(pieces ?? []) } : INCOMPLETE),
    };

    function finish(body: Body): void {
      if (!pieces) return;
      pieces = undefined;
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

const TOO_LARGE: Body = { ok: false, problem: "too_large" };
const INCOMPLETE: Body = { ok: false, problem: "incomplete" };
