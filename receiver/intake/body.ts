import { isAnyArrayBuffer } from "node:util/types";
import type { Clock } from "../clock.ts";
import type { NodeRequest } from "./adapters.ts";

/** Bytes of all bodies that are arriving, over all connections. */
const MAXIMUM_ARRIVING_BYTES = 64 * 1_048_576;

/** A body in more pieces than this is refused if they are smaller than this on average. */
const MAXIMUM_PIECES = 4_096;
const SMALLEST_PIECE_BYTES = 16;

const LONGEST_MS = 10_000;

/**
 * `in_pieces`: too many and too small pieces. `overloaded`: too much was arriving at once, and this body was the largest.
 * `no_bytes`: a parser in front of the receiver has read the body or turned it into text.
 */
type BodyProblem = "too_large" | "in_pieces" | "incomplete" | "late" | "overloaded" | "no_bytes";

export type Body = { ok: true; bytes: Uint8Array } | { ok: false; problem: BodyProblem };

export type BodyReader = ReturnType<typeof createBodyReader>;

/**
 * Reads bodies byte for byte as they were sent, and bounds the memory that unknown senders can take: when too much arrives at
 * once, it drops the largest body, so that ordinary events, which are small, get through.
 */
export function createBodyReader(options: {
  maxBodyBytes: number;
  maximumArrivingBytes?: number | undefined;
  clock: Clock;
}) {
  const { maxBodyBytes, maximumArrivingBytes: maximum = MAXIMUM_ARRIVING_BYTES, clock } = options;
  /** The bytes received of each body, by the function that drops it. */
  const arriving = new Map<() => void, number>();
  let totalBytes = 0;

  return {
    ofNode: async (request: NodeRequest): Promise<Body> => {
      const bytes = bytesOf(request.rawBody) ?? bytesOf(request.body) ?? bytesOfText(request.rawBody);
      if (bytes) return bytes.byteLength > maxBodyBytes ? refused("too_large") : { ok: true, bytes };
      if (wasRead(request)) return refused("no_bytes");
      return new Promise((resolve) => {
        const { take, end } = collect(resolve);
        // The rest of a failed body is read and dropped, so that the answer gets through.
        request.on("data", take);
        // An app may have paused the request.
        if ("resume" in request) request.resume();
        const over = (): void => end(request.readableEnded);
        request.once("end", () => end(true)).once("close", over);
        // These events were already emitted if the client left, or an empty body was read, before the request came here.
        if (request.readableEnded || request.destroyed) over();
      });
    },
    collect,
  };

  /**
   * Collects a body piece by piece: call `take` with each piece while it returns true, and then `end`. Pieces other than
   * bytes are refused.
   */
  function collect(settle: (body: Body) => void) {
    /** Has room for later pieces, so that small pieces are not kept as separate objects. */
    let gathered: Uint8Array | undefined = new Uint8Array();
    let bytes = 0;
    let pieces = 0;
    const giveUp = (): void => void finish(refused("overloaded"));
    const cancel = clock.after(LONGEST_MS, () => finish(refused("late")));
    arriving.set(giveUp, 0);
    return {
      take: (given: unknown): boolean => {
        const piece = bytesOf(given);
        if (!gathered) return false;
        if (!piece) return finish(refused("no_bytes"));
        const before = bytes;
        bytes += piece.byteLength;
        pieces += 1;
        if (bytes > maxBodyBytes) return finish(refused("too_large"));
        if (pieces > MAXIMUM_PIECES && bytes < pieces * SMALLEST_PIECE_BYTES)
          return finish(refused("in_pieces"));
        if (bytes > gathered.byteLength && before > 0)
          gathered = enlarged(gathered, Math.min(maxBodyBytes, Math.max(bytes, 2 * before)));
        if (before === 0) gathered = piece;
        else gathered.set(piece, before);
        arriving.set(giveUp, bytes);
        totalBytes += piece.byteLength;
        if (totalBytes > maximum) giveUpLargest();
        return arriving.has(giveUp);
      },
      end: (isWhole: boolean): void =>
        void finish(
          isWhole && gathered ? { ok: true, bytes: gathered.subarray(0, bytes) } : refused("incomplete"),
        ),
    };

    /** Returns false: no more pieces are needed. */
    function finish(body: Body): false {
      if (!gathered) return false;
      gathered = undefined;
      cancel();
      totalBytes -= arriving.get(giveUp) ?? 0;
      arriving.delete(giveUp);
      settle(body);
      return false;
    }
  }

  /** Drops the largest body; of several, the first one to arrive. */
  function giveUpLargest(): void {
    const most = Math.max(...arriving.values());
    for (const [giveUp, bytes] of arriving) if (bytes === most) return giveUp();
  }
}

/** The bytes of a value from any realm; undefined for anything else. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return isAnyArrayBuffer(value) ? new Uint8Array(value) : undefined;
}

/** The original bytes of a text, if it can be certain of them: U+FFFD stands where the bytes were not UTF-8. */
function bytesOfText(text: unknown): Uint8Array | undefined {
  return typeof text === "string" && !text.includes("\uFFFD") ? Buffer.from(text) : undefined;
}

/** Whether the body was already read. Requests that are not streams have no `readableDidRead`, or end before it is set. */
function wasRead({ readableDidRead, readableEnded, headers, body }: NodeRequest): boolean {
  if (readableEnded && Number(headers["content-length"] ?? 0) > 0) return true;
  if (typeof readableDidRead === "boolean") return readableDidRead;
  return body !== undefined && body !== null && Object.keys(body).length > 0;
}

function enlarged(bytes: Uint8Array, size: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(size);
  larger.set(bytes);
  return larger;
}

function refused(problem: BodyProblem): Body {
  return { ok: false, problem };
}
