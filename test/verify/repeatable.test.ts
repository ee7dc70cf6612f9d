import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { createMaterial } from "../../simulator/verify/material.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { QUICK } from "../mutants/judge.ts";
import { CORRECT } from "../mutants/behaviour.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";

/** Groups without waits. */
const GROUPS = ["acknowledgement", "signature", "raw-bytes", "duplicates", "evolution", "readings", "load"];
const STANDING_MS = 1_790_000_000_050;

const { TZ } = process.env;
afterEach(() => {
  if (TZ === undefined) delete process.env["TZ"];
  else process.env["TZ"] = TZ;
});

/** What a run with this seed sends, sorted, and its results, in order. */
async function runWith(seed: string, options: { delayMs: (count: number) => number; timeZone: string }) {
  process.env["TZ"] = options.timeZone;
  const sent: string[] = [];
  let count = 0;
  const receiver = await startMutant(
    {
      // Refuses some genuine events, so that there are verdicts of both kinds.
      acceptable: ({ type }) => (type === "booking.created" ? 400 : true),
      async readBody(request, state) {
        count += 1;
        await sleep(options.delayMs(count));
        const body = await CORRECT.readBody(request, state);
        const headers = request.rawHeaders.filter((_, index, all) => all[index - (index % 2)] !== "Host");
        sent.push(createHash("sha256").update(headers.join("\n")).update(body).digest("hex"));
        return body;
      },
    },
    () => STANDING_MS,
  );
  onTestFinished(() => receiver.close());
  const { results } = await runChecks({
    url: receiver.url,
    secret: SECRET,
    seed,
    checks: CATALOGUE.filter(({ group }) => GROUPS.includes(group)),
    timing: { ...QUICK, burst: 6 },
    now: () => STANDING_MS,
  });
  return {
    // A request that is cut off on purpose may arrive or not; it is sent twice.
    sent: [...new Set(sent)].toSorted(),
    found: results.map(({ check, outcome }) => `${check.id} ${outcome}`),
  };
}

test("a seed repeats every sent byte, every verdict and their order, even on a slow machine", async () => {
  const first = await runWith("42", { delayMs: () => 0, timeZone: "UTC" });
  const again = await runWith("42", { delayMs: (count) => (count * 7) % 5, timeZone: "Pacific/Kiritimati" });
  const other = await runWith("43", { delayMs: () => 0, timeZone: "UTC" });

  expect(first.sent.length).toBeGreaterThan(200);
  expect(again).toEqual(first);
  expect(first.found.some((found) => found.endsWith(" failed"))).toBe(true);
  // Control: with another seed almost all requests differ (an empty body does not), and the results are the same.
  expect(other.found).toEqual(first.found);
  expect(other.sent.filter((one) => first.sent.includes(one)).length).toBeLessThan(5);
});

test("a seed gives the same events on every machine", () => {
  const material = createMaterial({
    seed: "42",
    scope: "golden",
    events: EVENT_TYPES,
    nowSeconds: () => 1_790_000_000,
  });
  const written = (["call.completed", "order.created", "voicemail.created"] as const).map((type) =>
    material.event(type),
  );

  // From `printf 42/golden/1 | sha256sum`.
  expect(written.map(({ id }) => id)).toEqual([
    "evt_47de08c89384976a165ee4233d65e62e",
    "evt_b512fc1697167ed274113f8c7187a95b",
    "evt_bbd0ed5e8d5cc96b0d96acf235910e28",
  ]);
});
