import type { IncomingMessage } from "node:http";
import { release } from "./portions.ts";
import { createRoom } from "./room.ts";

export type Body = { ok: true; bytes: Buffer } | { ok: false; problem: BodyProblem };

/** `gave_way`: too much was arriving at once, and this body had been on its way for the longest. */
export type BodyProblem = "too_large" | "incomplete" | "gave_way";

export type BodyReader = (request: IncomingMessage) => Promise<Body>;

/** The length of its body as a request announces it; undefined when it comes in chunks. */
export function announcedBytes(request: IncomingMessage): number | undefined {
  const length = request.headers["content-length"];
  return length === undefined ? undefined : Number(length);
}

/**
 * Reads bodies as they are, and keeps what unknown senders can make us hold within a bound. What is left of a body that
 * failed is read and forgotten, so that the answer gets through.
 */
export function createBodyReader(options: {
  maxBodyBytes: number;
  maximumHeldBytes?: number | undefined;
}): BodyReader {
  const room = createRoom(options.maximumHeldBytes);

  return (request) =>
    new Promise((resolve) => {
      const announced = announcedBytes(request);
      const guest = room.enter(() => finish({ ok: false, problem: "gave_way" }));
      let whole: Buffer | undefined;
      let lengthBytes = 0;
      let finished = false;
      request.on("data", take);
      request.once("end", () => finish({ ok: true, bytes: whole ?? guest.whole() }));
      request.once("close", () => finish({ ok: false, problem: "incomplete" }));

      function take(piece: Buffer): void {
        lengthBytes += piece.length;
        if (lengthBytes > options.maxBodyBytes) finish({ ok: false, problem: "too_large" });
        // Most bodies come in one piece, which is then the body.
        if (!finished && piece.length === announced) whole = piece;
        else {
          if (!finished) guest.add(piece);
          release(piece);
        }
      }

      function finish(body: Body): void {
        if (finished) return;
        finished = true;
        guest.leave();
        resolve(body);
      }
    });
}
