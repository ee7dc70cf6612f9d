import { expect, test } from "vitest";
import { startService } from "./in-process.ts";

const CHOICES = [
  ["--state", "dead"],
  ["--type", "call.completed"],
  ["--endpoint", "ep_0123456789abcdef"],
  ["--text", "pizza"],
  ["--since", "1h"],
  ["--until", "2026-01-31T18:00:00Z"],
];

test("deliveries resend: each option chooses by itself, and none of them goes with ids", async () => {
  const { sim } = await startService();
  for (const choice of CHOICES) {
    expect(await sim("deliveries", "resend", ...choice)).toMatchObject({ code: 0, out: "" });
    const { code, err } = await sim("deliveries", "resend", "dlv_1", ...choice);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("--since or --until, not both") });
  }
  expect(await sim("deliveries", "resend")).toMatchObject({ code: 2 });
});
