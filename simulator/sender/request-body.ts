import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { SendRequest } from "../domain/dispatcher.ts";
import type { WallTime } from "../domain/wall-time.ts";

const SLOW_BODY_MS = 3_000;
const SLOW_BODY_STEPS = 30;

/** The body of a request as the faults on the wire want it: whole, dripping, or cut off half-way. */
export function requestBody(
  request: Pick<SendRequest, "body" | "faults">,
  wall: WallTime,
  socket: Socket,
): Buffer | Readable {
  const { body, faults } = request;
  if (faults.has("reset-mid-body")) return Readable.from(cutOff(body, socket));
  if (faults.has("slow-body")) return Readable.from(drip(body, wall));
  return body;
}

async function* drip(body: Buffer, wall: WallTime): AsyncGenerator<Buffer> {
  const stepBytes = Math.max(1, Math.ceil(body.byteLength / SLOW_BODY_STEPS));
  for (let at = 0; at < body.byteLength; at += stepBytes) {
    await new Promise<void>((resolve) => wall.after(SLOW_BODY_MS / SLOW_BODY_STEPS, resolve));
    yield body.subarray(at, at + stepBytes);
  }
}

async function* cutOff(body: Buffer, socket: Socket): AsyncGenerator<Buffer> {
  yield body.subarray(0, Math.floor(body.byteLength / 2));
  // Once the first half has left, an orderly end would be a short body; a reset is what a lost peer looks like.
  await new Promise((resolve) => setImmediate(resolve));
  socket.resetAndDestroy();
}
