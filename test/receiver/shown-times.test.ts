import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { JobHandler, Outcome } from "../../receiver/engine.ts";
import { inboxStatistics } from "../../receiver/operations/commands/inbox.ts";
import { handler, never, newEvent } from "./engine-suite/harness.ts";
import { movableClock } from "./helpers/clock.ts";
import { get } from "./helpers/events.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { recordingTerminal } from "./helpers/terminal.ts";
import { until } from "./helpers/until.ts";

/** Each point in time that is shown of an event, in each state that it can be in, against when that came about. */

const HOUR_MS = 3_600_000;

const timesSchema = z.object({
  state: z.string(),
  received_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  next_attempt_at: z.iso.datetime().nullable(),
  deferred_until: z.iso.datetime().optional(),
});
const shownSchema = timesSchema.extend({
  jobs: z.array(timesSchema.omit({ received_at: true }).extend({ deferred: z.boolean() })),
});

type Case = {
  state: string;
  handle?: () => Promise<Outcome>;
  policies?: Partial<JobHandler>;
  requeued?: true;
  /** How long after the attempt the next one is due; 0 where it is due from the beginning on. */
  dueMs?: number;
  isFinished?: true;
  isDeferred?: true;
};

const CASES: [string, Case][] = [
  ["nobody has looked at", { state: "pending", dueMs: 0 }],
  ["is being handled", { state: "claimed", handle: never }],
  ["is done", { state: "done", handle: async () => ({ kind: "done" }), isFinished: true }],
  ["is dead", { state: "dead", handle: async () => ({ kind: "dead", error: "x" }), isFinished: true }],
  [
    "was requeued",
    { state: "pending", handle: async () => ({ kind: "dead", error: "x" }), requeued: true, dueMs: 0 },
  ],
  [
    "failed and is tried again",
    {
      state: "pending",
      handle: async () => ({ kind: "failed", error: "x" }),
      policies: { backoffMs: () => 2 * HOUR_MS },
      dueMs: 2 * HOUR_MS,
    },
  ],
  [
    "was put off",
    {
      state: "pending",
      handle: async () => ({ kind: "later", reason: "x", delayMs: 3 * HOUR_MS }),
      dueMs: 3 * HOUR_MS,
      isDeferred: true,
    },
  ],
];

test.each(CASES)("an event that %s is shown with the times of that", async (_, expected) => {
  const clock = movableClock();
  const { engine, adminUrl } = await startTestReceiver({ clock });
  const event = newEvent();
  const receivedAt = between(clock.nowMs());
  await engine.intake.accept([event]);
  receivedAt.untilMs = clock.nowMs();
  clock.move(HOUR_MS);
  const attemptedAt = between(clock.nowMs());
  const ended = Promise.withResolvers<void>();
  const { handle } = expected;
  if (handle !== undefined) {
    const processor = await engine.work.process({
      handlers: [handler(expected.policies)],
      handle: async () => {
        if (handle === never) ended.resolve();
        return handle();
      },
      workerId: "worker",
      concurrency: 1,
      onHandled: () => ended.resolve(),
      onTrouble: () => undefined,
    });
    await ended.promise;
    if (handle === never) onTestFinished(async () => processor.drain(0));
    else await processor.drain(0);
  }
  attemptedAt.untilMs = clock.nowMs();
  clock.move(HOUR_MS / 2);
  if (expected.requeued) await engine.ledger.requeue([event.id]);

  const shown = await until(
    async () => shownSchema.parse(await (await get(`${adminUrl ?? ""}/inbox/${event.id}`)).json()),
    ({ state }) => state === expected.state,
  );
  expect(receivedAt.has(shown.received_at)).toBe(true);
  const { dueMs, isFinished = false, isDeferred = false } = expected;
  // What is due from the beginning on is due since it came, or since somebody wanted it again.
  const due =
    dueMs === 0 ? { fromMs: receivedAt.fromMs, untilMs: clock.nowMs() } : later(attemptedAt, dueMs ?? 0);
  for (const one of [shown, ...shown.jobs]) {
    expect([one.next_attempt_at !== null, one.finished_at !== null]).toEqual([
      dueMs !== undefined,
      isFinished,
    ]);
    expect(one.next_attempt_at === null || has(due, one.next_attempt_at)).toBe(true);
    expect(one.finished_at === null || has(attemptedAt, one.finished_at)).toBe(true);
  }
  expect(shown.deferred_until).toBe(isDeferred ? (shown.next_attempt_at ?? "") : undefined);
});

type Span = { fromMs: number; untilMs: number };

function between(fromMs: number): Span & { has: (iso: string) => boolean } {
  const span = { fromMs, untilMs: Infinity, has: (iso: string) => has(span, iso) };
  return span;
}

function has({ fromMs, untilMs }: Span, iso: string): boolean {
  return Date.parse(iso) >= fromMs && Date.parse(iso) <= untilMs;
}

function later({ fromMs, untilMs }: Span, byMs: number): Span {
  return { fromMs: fromMs + byMs, untilMs: untilMs + byMs };
}

test("how long the oldest event waits is said in seconds, alike in the command, its JSON and the metrics", async () => {
  const clock = movableClock();
  const { engine, adminUrl } = await startTestReceiver({ clock });
  await engine.intake.accept([newEvent()]);
  clock.move(HOUR_MS);
  await engine.intake.accept([newEvent()]);
  const asJson = recordingTerminal();
  await inboxStatistics(engine, { json: true }, asJson);
  const told = z
    .object({ oldest_unfinished_age_seconds: z.number() })
    .parse(JSON.parse(asJson.printed.join("")));
  const inWords = recordingTerminal();
  await inboxStatistics(engine, {}, inWords);
  const words = /^The oldest unfinished event came (\d+) s ago\.$/.exec(inWords.printed.at(-1) ?? "")?.[1];
  const metrics = await (await get(`${adminUrl ?? ""}/metrics`)).text();
  const gauge = /^receiver_oldest_unfinished_event_age_seconds (\S+)$/m.exec(metrics)?.[1];
  for (const seconds of [told.oldest_unfinished_age_seconds, Number(words), Number(gauge)]) {
    expect(seconds).toBeGreaterThanOrEqual(3_600);
    expect(seconds).toBeLessThan(3_600 + 600);
  }
});
