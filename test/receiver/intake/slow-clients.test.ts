import { expect, test } from "vitest";
import { newBody } from "../helpers/events.ts";
import { startIntake } from "../helpers/intake.ts";
import { open, rawRequest, readAnswer } from "../helpers/raw.ts";

/**
 * Ten times as fast as in reality, unless SLOW_CLIENTS=real. Node.js checks once a second, so it may be a second late on
 * an idle machine.
 */
const SPEED = process.env["SLOW_CLIENTS"] === "real" ? 1 : 10;
const LATE_MS = SPEED === 1 ? 1_500 : 20_000;

test.for([
  ["its first byte", 5_000, () => Buffer.alloc(0)],
  ["its headers", 5_000, () => Buffer.from("POST /webhooks HTTP/1.1\r\nHost: x\r\n")],
  ["its body", 10_000, (url: string) => rawRequest(url, { body: newBody() }).subarray(0, -5)],
] as const)("a request that takes too long over %s is ended after %i ms", async ([, limitMs, part]) => {
  const faster = { headersTimeout: 5_000 / SPEED, requestTimeout: 10_000 / SPEED };
  const { url } = await startIntake(SPEED === 1 ? {} : faster);
  const startedAtMs = performance.now();
  const client = open(url);
  client.write(part(url));
  expect(await readAnswer(client)).toMatchObject({ status: 408, json: { error: "request_timeout" } });
  const tookMs = performance.now() - startedAtMs;
  expect(tookMs).toBeGreaterThan(limitMs / SPEED - 50);
  expect(tookMs).toBeLessThan(limitMs / SPEED + LATE_MS);
});
