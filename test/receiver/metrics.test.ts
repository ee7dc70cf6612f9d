import { expect, onTestFinished, test, vi } from "vitest";
import type { Counts, Handled } from "../../receiver/engine.ts";
import { createMetrics } from "../../receiver/operations/metrics.ts";
import { childMessageSchema } from "../../receiver/work/messages.ts";

const handled = (type: string): Handled => ({
  handler: "log-call",
  id: "evt_1",
  type,
  attempt: 1,
  outcome: "done",
  durationMs: 20,
});
const counts = async (): Promise<Counts> => ({
  byState: { pending: 2, claimed: 0, done: 7, ignored: 0, dead: 0 },
  byHandler: [{ handler: "log-call", pending: 2, claimed: 1, dead: 3, ignored: 0 }],
  oldestUnfinishedAgeMs: 1_500,
});

/** The line of a metric, as Prometheus reads it. */
async function line(metrics: ReturnType<typeof createMetrics>, start: string): Promise<string | undefined> {
  return (await metrics.text()).body.split("\n").find((text) => text.startsWith(start));
}

test("what worker processes count is summed over all that come and go, and never gets smaller", async () => {
  const metrics = createMetrics({ counts });
  const count = `receiver_handling_seconds_count{handler="log-call",type="call.completed",outcome="done"}`;
  expect(await line(metrics, "# TYPE receiver_handling_seconds ")).toContain("histogram");

  metrics.handled([handled("call.completed")]);
  metrics.handled([handled("call.completed")]);
  expect(await line(metrics, count)).toBe(`${count} 2`);

  metrics.workerDied();
  expect(await line(metrics, count)).toBe(`${count} 2`);
  expect(await line(metrics, "receiver_worker_restarts_total")).toBe("receiver_worker_restarts_total 1");

  metrics.handled([handled("call.completed"), handled("a type that somebody made up")]);
  expect(await line(metrics, count)).toBe(`${count} 3`);
  metrics.workerDied();
  metrics.workerDied();
  expect(await line(metrics, count)).toBe(`${count} 3`);
  expect(await line(metrics, `receiver_handling_seconds_count{handler="log-call",type="other"`)).toMatch(
    / 1$/,
  );
  expect(
    await line(
      metrics,
      `receiver_handling_seconds_bucket{le="0.05",handler="log-call",type="call.completed"`,
    ),
  ).toMatch(/ 3$/);
});

test("the process is measured once for all receivers in it, not before somebody asks, and by no timer that goes off", async () => {
  const timers = vi.spyOn(globalThis, "setInterval");
  onTestFinished(() => timers.mockRestore());
  const [one, other] = [createMetrics({ counts }), createMetrics({ counts })];
  expect(timers).not.toHaveBeenCalled();
  for (const metrics of [one, other, one]) {
    const { body } = await metrics.text();
    for (const name of ["nodejs_eventloop_lag_p99_seconds", "process_resident_memory_bytes"])
      expect(body.split("\n").filter((text) => text.startsWith(`${name} `))).toHaveLength(1);
  }
  // None where another test of this process has asked before.
  expect(timers.mock.calls.length).toBeLessThanOrEqual(1);
  for (const [, ms] of timers.mock.calls) expect(ms).toBeGreaterThan(86_400_000);
});

test("what a process has to say of its attempts is nothing else that a handler may send", () => {
  const alive = { kind: "alive", memoryBytes: 0 };
  expect(childMessageSchema.safeParse({ ...alive, ended: [handled("call.completed")] }).success).toBe(true);
  for (const ended of [undefined, "none", [{}], [{ ...handled("x"), outcome: "up" }]])
    expect(childMessageSchema.safeParse({ ...alive, ended }).success).toBe(false);
});

test("the worker is up or not where there is one, and neither where there is none", async () => {
  let alive = true;
  const metrics = createMetrics({ counts, workerAlive: () => alive });
  expect(await line(metrics, "receiver_worker_up")).toBe("receiver_worker_up 1");
  alive = false;
  expect(await line(metrics, "receiver_worker_up")).toBe("receiver_worker_up 0");
  expect(await line(createMetrics({ counts }), "receiver_worker_up")).toBeUndefined();
});

test("depths are those of the inbox, and left out while it can't tell", async () => {
  let ask = counts;
  const metrics = createMetrics({ counts: async () => ask() });
  expect(await line(metrics, `receiver_inbox_events{state="done"}`)).toMatch(/ 7$/);
  const oldest = "receiver_oldest_unfinished_event_age_seconds ";
  expect(await line(metrics, oldest)).toBe(`${oldest}1.5`);
  ask = () => Promise.reject(new Error("no database"));
  expect(await line(metrics, "receiver_inbox_events{")).toBeUndefined();
  expect(await line(metrics, "receiver_rejections_total")).toBeUndefined();
  metrics.refused("draining");
  expect(await line(metrics, "receiver_rejections_total")).toMatch(/reason="draining",class="refused"} 1$/);
});

test("of each scrape the gauges are those of the counts at that moment, and nothing of an earlier one", async () => {
  const none = { pending: 0, claimed: 0, done: 0, ignored: 0, dead: 0 };
  const jobs = { pending: 1, claimed: 2, dead: 3, ignored: 4 };
  const moments: (Counts | undefined)[] = [
    {
      byState: { pending: 1, claimed: 2, done: 3, ignored: 4, dead: 5 },
      byHandler: [
        { handler: "a", ...jobs },
        { handler: "b", ...jobs, dead: 7 },
      ],
      oldestUnfinishedAgeMs: 2_500,
    },
    { byState: none, byHandler: [{ handler: "b", ...jobs, pending: 9 }], oldestUnfinishedAgeMs: null },
    undefined,
    { byState: none, byHandler: [], oldestUnfinishedAgeMs: 0 },
  ];
  const left = [...moments];
  const metrics = createMetrics({
    counts: async () => left.shift() ?? Promise.reject(new Error("no database")),
  });
  for (const moment of moments) {
    const { body } = await metrics.text();
    const shown =
      body.match(/^receiver_(?:inbox_events|handler_jobs|oldest_unfinished_event_age_seconds).*$/gm) ?? [];
    const states = Object.entries(moment?.byState ?? {});
    const expected = [
      ...states.map(([state, count]) => `receiver_inbox_events{state="${state}"} ${String(count)}`),
      ...(moment?.byHandler ?? []).flatMap(({ handler, ...own }) =>
        Object.entries(own).map(
          ([state, count]) => `receiver_handler_jobs{handler="${handler}",state="${state}"} ${String(count)}`,
        ),
      ),
      ...(moment
        ? [
            `receiver_oldest_unfinished_event_age_seconds ${String((moment.oldestUnfinishedAgeMs ?? 0) / 1_000)}`,
          ]
        : []),
    ];
    expect(shown.toSorted()).toEqual(expected.toSorted());
  }
});

test.each([
  ["disk_low", "unavailable"],
  ["overloaded", "unavailable"],
  ["bug", "unavailable"],
  ["draining", "refused"],
  ["encoding.unsupported", "refused"],
  ["entity.too.large", "refused"],
  ["request.aborted", "refused"],
  ["body_already_read", "refused"],
])("a request that was refused for %s counts as %s", async (reason, kind) => {
  const metrics = createMetrics({ counts });
  metrics.refused(reason);
  expect(await line(metrics, "receiver_rejections_total")).toBe(
    `receiver_rejections_total{reason="${reason}",class="${kind}"} 1`,
  );
});

test.each([
  ["busy", "unavailable"],
  ["timeout", "unavailable"],
  ["outcome_unknown", "unavailable"],
] as const)("a delivery that the database did not take for %s counts as %s", async (reason, kind) => {
  const metrics = createMetrics({ counts });
  metrics.received({ kind: "unavailable", reason, detail: "" }, 0.01);
  expect(await line(metrics, "receiver_rejections_total")).toBe(
    `receiver_rejections_total{reason="${reason}",class="${kind}"} 1`,
  );
});

test("the secrets are counted by their position, the first being 1", async () => {
  const metrics = createMetrics({ counts });
  metrics.received({ kind: "stored", id: "evt_1", type: "call.completed", secretIndex: 0 }, 0.01);
  metrics.received({ kind: "duplicate", id: "evt_1", type: "call.completed", secretIndex: 1 }, 0.01);
  metrics.received({ kind: "duplicate", id: "evt_1", type: "call.completed", secretIndex: 1 }, 0.01);
  const matches = (await metrics.text()).body.match(/^receiver_secret_matches_total.*$/gm);
  expect(matches).toEqual([
    'receiver_secret_matches_total{position="1"} 1',
    'receiver_secret_matches_total{position="2"} 2',
  ]);
});
