import type { RequestHandler } from "express";

/** Bytes of bodies that may be in memory at once, over all connections. */
const MAXIMUM_HELD_BYTES = 64 * 1_048_576;

/**
 * Keeps what unknown senders can make us hold within a bound: counts the bytes of every body as they arrive and lets
 * `refuse` answer a request that would exceed it, before or while it is read. Place it before the body parser.
 */
export function createAdmission(options: {
  refuse: RequestHandler;
  maximumHeldBytes?: number;
}): RequestHandler {
  const maximum = options.maximumHeldBytes ?? MAXIMUM_HELD_BYTES;
  let heldBytes = 0;

  return (request, response, next) => {
    if (heldBytes >= maximum) {
      options.refuse(request, response, next);
      return;
    }
    let mine = 0;
    request.on("data", (chunk: Buffer) => {
      mine += chunk.length;
      heldBytes += chunk.length;
      if (heldBytes > maximum && !response.headersSent) options.refuse(request, response, next);
    });
    response.once("close", () => {
      heldBytes -= mine;
      mine = 0;
    });
    next();
  };
}
