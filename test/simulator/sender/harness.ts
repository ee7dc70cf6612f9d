import assert from "node:assert/strict";
import type { LookupFunction } from "node:net";
import { afterEach, beforeEach, vi } from "vitest";
import { wireHeaders } from "../../../simulator/domain/attempt-request.ts";
import type { SendRequest, SendResult } from "../../../simulator/domain/flights.ts";
import { systemTime, type WallTime } from "../../../simulator/domain/wall-time.ts";
import { createSender } from "../../../simulator/sender/sender.ts";

/** Long enough for loopback on a busy machine if an answer is expected, short if the deadline is. */
export const PATIENT_MS = 10_000;
export const SHORT_MS = 250;

export const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

type Attempts = Partial<SendRequest> & {
  wall?: WallTime;
  timeoutMs?: number;
  allowedHosts?: string[];
  lookup?: LookupFunction;
};

/** Makes attempts against `url`, one per call, with a single sender, as the service does. */
export function senderTo(url: string, options: Attempts = {}): () => Promise<SendResult> {
  const { wall = systemTime, timeoutMs = PATIENT_MS, allowedHosts = [], lookup, ...request } = options;
  const send = createSender({ wall, allowedHosts, timeoutMs, lookup });
  const { body = Buffer.from('{"id":"evt_0"}') } = request;
  return () =>
    send({
      url,
      headers: wireHeaders({ url, signature: "t=1,v1=00", body }),
      body,
      answerMeans: "headers",
      faults: new Set(),
      signal: new AbortController().signal,
      ...request,
    });
}

/** Makes one attempt against `url`. */
export function sendTo(url: string, options: Attempts = {}): Promise<SendResult> {
  return senderTo(url, options)();
}

/** The outcome in one word, as in the tests' tables. */
export async function wordOf(result: SendResult | Promise<SendResult>): Promise<string | number> {
  const { outcome } = await result;
  return "status" in outcome ? outcome.status : outcome.error;
}

/** The open sockets and DNS look-ups of this process. */
function heldResources(): string[] {
  const counted = /^(?:TCPSocketWrap|TLSWrap|TCPConnectWrap|GetAddrInfoReqWrap|HTTP|ShutdownWrap)/;
  return process.getActiveResourcesInfo().filter((name) => counted.test(name));
}

/** Resolves when this process holds exactly `expected` again; fails when it still holds more after a while. */
async function releasedTo(expected: readonly string[]): Promise<void> {
  await vi.waitFor(() => assert.deepEqual(heldResources(), expected), { timeout: 60_000, interval: 5 });
}

/** Fails each test of a file that leaves a socket or a look-up open, except those open when it calls `keepsOpen`. */
export function leavesNothingOpen(): { keepsOpen: () => void } {
  let expected: string[] = [];
  const keepsOpen = () => void (expected = heldResources());
  beforeEach(keepsOpen);
  afterEach(() => releasedTo(expected));
  return { keepsOpen };
}
