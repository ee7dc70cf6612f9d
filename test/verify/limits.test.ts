import { describe, expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { idsOf, QUICK } from "../mutants/judge.ts";
import { within } from "../mutants/planted/helpers.ts";
import { type Behaviour, CORRECT, SECRET, startMutant } from "../mutants/receiver.ts";

const LIMITS = CATALOGUE.filter(({ id }) => /^signature\.(?:past|future)-\d|signed-just-now/.test(id));

describe.concurrent("the limits of the window", () => {
  test("hold for a receiver whose clock is 37.4 s ahead", async ({ expect }) => {
    expect(await judged({ aheadMs: 37_400 })).toMatchObject({ failed: [], unverified: [] });
  });

  test("are those of its own clock: a second more is found out", async ({ expect }) => {
    const plant = { ageAccepted: within((age) => Math.abs(age) <= 301) };
    expect(await judged({ aheadMs: -112_700, plant })).toMatchObject({
      failed: ["signature.past-301", "signature.future-301"],
      unverified: [],
    });
  });

  test("cannot be judged where its clock says different things", async ({ expect }) => {
    const { failed, unverified, reasons } = await judged({ aheadMs: 0, jumpMs: 5_000 });
    expect(failed).toEqual([]);
    expect(unverified).toEqual(LIMITS.map(({ id }) => id).filter((id) => id !== "signature.signed-just-now"));
    expect(new Set(reasons).size).toBe(1);
    expect(reasons[0]).toMatch(/between -?\d\.\d and [45]\.\d s ahead of ours: too unsure/);
  });
});

const [SLOWER, SOON_MS] = [10, 60];

/** Judges a receiver whose clock is not ours and which says so; `jumpMs` more in every other answer. */
async function judged(options: { aheadMs: number; jumpMs?: number; plant?: Partial<Behaviour> }) {
  // Time passes slowly, so that the delays of a busy machine make no reading of the clock unsure, and the receiver's next
  // second, by which its clock is read, begins soon.
  const startedMs = performance.now();
  const beganMs = Math.ceil((Date.now() + options.aheadMs) / 1_000) * 1_000 - SOON_MS - options.aheadMs;
  const now = (): number => beganMs + Math.floor((performance.now() - startedMs) / SLOWER);
  const itsClock = (): number => now() + options.aheadMs;
  let answers = 0;
  const receiver = await startMutant(
    {
      ...options.plant,
      answer: (response, status) => {
        answers += 1;
        const jumpMs = answers % 2 === 0 ? (options.jumpMs ?? 0) : 0;
        response.setHeader("date", new Date(itsClock() + jumpMs).toUTCString());
        CORRECT.answer(response, status);
      },
    },
    itsClock,
  );
  try {
    const report = await runChecks({
      url: receiver.url,
      secret: SECRET,
      seed: "limits",
      checks: LIMITS,
      timing: QUICK,
      now,
    });
    const reasons = report.results.flatMap(({ outcome, explanation }) =>
      outcome === "passed" ? [] : (explanation ?? []),
    );
    return { failed: idsOf(report, "failed"), unverified: idsOf(report, "unverified"), reasons };
  } finally {
    await receiver.close();
  }
}

test("control: there are limits to judge", () => {
  expect(LIMITS).toHaveLength(7);
});

/** How old each signature is that a check sends, in seconds; its t as it is written where that is no time. */
const AGES: Record<string, (number | string)[]> = {
  "past-299": [299],
  "past-300": [300],
  "past-301": [301],
  "future-299": [-299],
  "future-300": [-300],
  "future-301": [-301],
  "stale-hour": [3_600],
  "stale-day": [86_400],
  "future-hour": [-3_600],
  "future-decade": [-3_650 * 86_400],
  milliseconds: ["NOW000"],
  epoch: ["0", "-1", "-NOW"],
  "not-a-number": ["NaN", "abc", "undefined"],
  "trailing-garbage": ["NOWabc", "NOW.5", "NOW "],
  "signed-just-now": [8, -8, 200, -200],
};

test.each(Object.entries(AGES))("signature.%s is about a t that is so old: %j", async (name, ages) => {
  const standingMs = 1_790_000_000_050;
  const nowSeconds = Math.floor(standingMs / 1_000);
  const sent: string[] = [];
  const receiver = await startMutant(
    {
      signatureHeaders: (request) => {
        const headers = CORRECT.signatureHeaders(request);
        sent.push(...headers);
        return headers;
      },
    },
    () => standingMs,
  );
  const checks = CATALOGUE.filter(({ id }) => id === `signature.${name}`);
  const { results } = await runChecks({
    url: receiver.url,
    secret: SECRET,
    seed: "ages",
    checks,
    timing: QUICK,
    now: () => standingMs,
  });
  await receiver.close();
  expect(results.map(({ outcome }) => outcome)).toEqual(["passed", "passed", "passed"]);
  // The first is the preflight's, and others may measure the clock.
  const told = sent
    .map((header) => /t=([^,]*),/.exec(header)?.[1] ?? "")
    .map((t) =>
      /^\d{1,12}$/.test(t) && t !== "0" ? nowSeconds - Number(t) : t.replace(String(nowSeconds), "NOW"),
    )
    .filter((age) => age !== 0);
  expect(told.map(String).toSorted()).toEqual(ages.map(String).toSorted());
});
