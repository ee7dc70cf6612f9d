import { setImmediate } from "node:timers";
import { requestLine } from "../domain/attempt-request.ts";
import type { SendRequest } from "../domain/flights.ts";
import type { WallTime } from "../domain/wall-time.ts";
import type { Connection } from "./connection.ts";

type WireRequest = Pick<SendRequest, "url" | "headers" | "body"> & { method?: string };

const SLOW_BODY_MS = 3_000;
const SLOW_BODY_STEPS = 30;

/** A whole request in one piece, with exactly its headers. */
export function requestBytes({ method, url, headers, body }: WireRequest): Buffer {
  let head = `${requestLine(url, method)}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  head += "\r\n";
  const bytes = Buffer.allocUnsafe(head.length + body.byteLength);
  bytes.write(head, "latin1");
  bytes.set(body, head.length);
  return bytes;
}

/** Writes a request according to the faults on the wire: whole, slowly, or cut off half-way. */
export function writeRequest(
  connection: Connection,
  request: WireRequest & Pick<SendRequest, "faults">,
  wall: WallTime,
): void {
  const { body, faults } = request;
  const bytes = requestBytes(request);
  const bodyAt = bytes.byteLength - body.byteLength;
  if (faults.has("reset-mid-body")) {
    connection.write(bytes.subarray(0, bodyAt + Math.floor(body.byteLength / 2)));
    // After the first half: an orderly end would be a short body, and a reset is what a lost peer causes.
    setImmediate(connection.reset);
  } else if (faults.has("slow-body")) {
    connection.setNoDelay();
    connection.write(bytes.subarray(0, bodyAt));
    drip(connection, body, wall);
  } else {
    connection.write(bytes);
  }
}

function drip(connection: Connection, body: Buffer, wall: WallTime): void {
  const stepBytes = Math.max(1, Math.ceil(body.byteLength / SLOW_BODY_STEPS));
  const step = (at: number) => {
    if (at >= body.byteLength) return;
    wall.after(SLOW_BODY_MS / SLOW_BODY_STEPS, () => {
      if (!connection.isOpen()) return;
      connection.write(body.subarray(at, at + stepBytes));
      step(at + stepBytes);
    });
  };
  step(0);
}
