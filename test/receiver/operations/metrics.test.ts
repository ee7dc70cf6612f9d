import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createMetrics } from "../../../receiver/operations/metrics.ts";
import type { Counts } from "../../../receiver/store/port.ts";
import { alertRules, firing, scrapeOf } from "../helpers/alert-rules.ts";
import { standingClock } from "../helpers/clock.ts";

const jobs = { waiting: 2, running: 1, failing: 1, dead: 3, ignored: 0 };
const COUNTS: Counts = {
  events: 9,
  unwanted: 4,
  handlers: [
    { handler: "kitchen", ...jobs, oldestUnfinishedAtMs: -5_000 },
    { handler: "crm", ...jobs, waiting: 0, oldestUnfinishedAtMs: null },
  ],
  causes: [],
};

function metrics(
  counts: () => Promise<Counts | undefined> = async () => COUNTS,
  workerAlive?: () => boolean,
) {
  const clock = standingClock();
  return { clock, ...createMetrics({ counts, clock, workerAlive }) };
}

/** The values of a metric by its labels. */
async function values(made: ReturnType<typeof metrics>, name: string): Promise<Record<string, number>> {
  const samples = scrapeOf((await made.text()).body).filter((sample) => sample.name === name);
  return Object.fromEntries(samples.map(({ labels, value }) => [Object.values(labels).join(" "), value]));
}

const ended = (handler: string, type = "call.completed") => {
  return { handler, type, outcome: "done" as const, durationMs: 20 };
};

test("deliveries are counted by their result, with the time from their last byte", async () => {
  const made = metrics();
  made.received({ kind: "stored", id: "evt_1", type: "call.completed", secretIndex: 0 }, 0.004);
  made.received({ kind: "duplicate", id: "evt_1", type: "maria.called", secretIndex: 1 }, 0.004);
  made.received({ kind: "invalid_signature", reason: "no_match" }, 0.001);
  made.received({ kind: "invalid_json", message: "no" }, 0.001);
  made.received({ kind: "unavailable", reason: "full", detail: "" }, 0.001);
  for (const reason of ["draining", "disk_low", "overloaded", "no_bytes", "bug"]) made.refused(reason);
  const events = await values(made, "receiver_events_total");
  expect(events).toEqual({ "call.completed stored": 1, "other duplicate": 1 });
  expect(await values(made, "receiver_secret_matches_total")).toEqual({ 1: 1, 2: 1 });
  expect(await values(made, "receiver_rejections_total")).toEqual({
    "no_match refused": 1,
    "invalid_json refused": 1,
    "full unavailable": 1,
    "draining refused": 1,
    "disk_low unavailable": 1,
    "overloaded unavailable": 1,
    "no_bytes unavailable": 1,
    "bug unavailable": 1,
  });
  const counts = await values(made, "receiver_acknowledgement_seconds_count");
  expect(counts).toMatchObject({ stored: 1, unavailable: 1 });
});

test("jobs are counted by handler and state, and the age is that of the oldest", async () => {
  const made = metrics();
  expect(await values(made, "receiver_handler_jobs")).toMatchObject({
    "kitchen waiting": 2,
    "kitchen dead": 3,
    "crm waiting": 0,
  });
  expect(await values(made, "receiver_oldest_unfinished_event_age_seconds")).toEqual({ "": 5 });
  expect(await values(made, "receiver_inbox_events")).toEqual({ "": 9 });
  expect(await values(made, "receiver_unwanted_events")).toEqual({ "": 4 });
  const idle = metrics(async () => ({ ...COUNTS, handlers: COUNTS.handlers.slice(1) }));
  await idle.clock.pass(9_000);
  expect(await values(idle, "receiver_oldest_unfinished_event_age_seconds")).toEqual({ "": 0 });
});

test.each([async () => Promise.reject(new Error("locked")), async () => undefined])(
  "while the database cannot be counted its gauges have no values, and all others have",
  async (counts) => {
    let found = async (): Promise<Counts | undefined> => COUNTS;
    const made = metrics(async () => found());
    await made.text();
    found = counts;
    made.workerDied();
    expect(await values(made, "receiver_oldest_unfinished_event_age_seconds")).toEqual({});
    expect(await values(made, "receiver_handler_jobs")).toEqual({});
    expect(await values(made, "receiver_worker_restarts_total")).toEqual({ "": 1 });
  },
);

test("only a process with a worker reports whether the worker is up", async () => {
  expect(await values(metrics(), "receiver_worker_up")).toEqual({});
  for (const isAlive of [false, true]) {
    const made = metrics(undefined, () => isAlive);
    expect(await values(made, "receiver_worker_up")).toEqual({ "": Number(isAlive) });
  }
});

test("attempts are counted by handler, type and outcome", async () => {
  const made = metrics();
  made.handled([ended("kitchen"), ended("kitchen"), ended("crm", "other")]);
  made.handled([ended("kitchen")]);
  expect(await values(made, "receiver_handling_seconds_sum")).toMatchObject({ "crm other done": 0.02 });
  expect(await values(made, "receiver_handling_seconds_count")).toEqual({
    "kitchen call.completed done": 3,
    "crm other done": 1,
  });
});

test("the alert rules and the board query existing metrics", async () => {
  const made = metrics(undefined, () => true);
  made.handled([ended("kitchen")]);
  const known = [...(await made.text()).body.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  const asked = [
    ...[...alertRules().values()].join("\n").matchAll(/\b(?:receiver|nodejs|process)_\w+/g),
    ...readFileSync("deploy/dashboard.json", "utf8").matchAll(/\b(?:receiver|nodejs|process)_\w+/g),
  ];
  expect(asked.length).toBeGreaterThan(15);
  for (const [name] of asked) expect(known).toContain(name.replace(/_(?:bucket|count|sum)$/, ""));
});

test("each rule fires for its problem, and none for a healthy receiver", async () => {
  const isUp = { alive: true };
  const state: { counts: Counts } = {
    counts: { ...COUNTS, handlers: [{ handler: "kitchen", ...jobs, oldestUnfinishedAtMs: null }] },
  };
  const made = metrics(
    async () => state.counts,
    () => isUp.alive,
  );
  made.handled([{ ...ended("kitchen"), outcome: "dead" }]);
  made.refused("disk_low");
  const before = scrapeOf((await made.text()).body);
  expect(firing([before])).toEqual([]);
  made.handled([{ ...ended("kitchen"), outcome: "dead" }]);
  made.refused("disk_low");
  isUp.alive = false;
  state.counts = { ...COUNTS, handlers: [{ handler: "kitchen", ...jobs, oldestUnfinishedAtMs: -3_601_000 }] };
  const after = scrapeOf((await made.text()).body);
  expect(firing([before, after]).toSorted()).toEqual([
    "ReceiverBacklog",
    "ReceiverDeadEvents",
    "ReceiverRefusesEvents",
    "ReceiverWorkerDown",
  ]);
});
