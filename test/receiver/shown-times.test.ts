import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Outcome } from "../../receiver/engine.ts";
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
  finished_at: z.iso.datetime().nullable(),
  next_attempt_at: z.iso.datetime().nullable(),
});
const shownSchema = timesSchema.extend({
  received_at: z.iso.datetime(),
  deferred_until: z.iso.datetime().optional(),
  jobs: z.array(timesSchema),
});

/** What came about between two looks at the clock. */
type Span = { fromMs: number; untilMs: number };

const has = ({ fromMs, untilMs }: Span, iso: string | null): boolean =>
  iso !== null && Date.parse(iso) >= fromMs && Date.parse(iso) <= untilMs;

/** Whether a time is one of those expected, or none where none is. */
const fits = (span: Span | undefined, iso: string | null): boolean =>
  span === undefined ? iso === null : has(span, iso);

const later = ({ fromMs, untilMs }: Span, byMs: number): Span => ({
  fromMs: fromMs + byMs,
  untilMs: untilMs + byMs,
});

/** How attempts end, each at an event of this type. */
const OUTCOMES: Record<string, Outcome> = {
  "is.done": { kind: "done" },
  "is.dead": { kind: "dead", error: "x" },
  "was.requeued": { kind: "dead", error: "x" },
  "has.failed": { kind: "failed", error: "x" },
  "was.put_off": { kind: "later", reason: "x", delayMs: 3 * HOUR_MS },
};

test("an event is shown with the times of the state that it is in", async () => {
  const clock = movableClock();
  const { engine, adminUrl } = await startTestReceiver({ clock });
  const events = [...Object.keys(OUTCOMES), "is.claimed"].map((type) => newEvent({ type }));
  const idOf = (type: string): string => events.find((event) => event.type === type)?.id ?? "";
  const shown = async (type: string) =>
    shownSchema.parse(await (await get(`${adminUrl ?? ""}/inbox/${idOf(type)}`)).json());
  const received = { fromMs: clock.nowMs(), untilMs: Infinity };
  await engine.intake.accept(events);
  received.untilMs = clock.nowMs();

  /** Of the event and of its job alike: when it is tried next, and when it ended. */
  const expectTimes = async (type: string, state: string, due?: Span, finished?: Span) => {
    const { received_at: receivedAt, deferred_until: deferredUntil, jobs, ...event } = await shown(type);
    for (const one of [event, ...jobs]) {
      const found = { next: fits(due, one.next_attempt_at), finished: fits(finished, one.finished_at) };
      expect({ type, one, ...found }).toEqual({ type, one: { ...one, state }, next: true, finished: true });
    }
    expect(has(received, receivedAt)).toBe(true);
    return { deferredUntil, next: event.next_attempt_at };
  };
  await expectTimes("is.done", "pending", received);

  clock.move(HOUR_MS);
  const attempted = { fromMs: clock.nowMs(), untilMs: Infinity };
  let ended = 0;
  const processor = await engine.work.process({
    handlers: [handler({ backoffMs: () => 2 * HOUR_MS })],
    handle: async ({ type }) => OUTCOMES[type] ?? never(),
    workerId: "worker",
    concurrency: events.length,
    onHandled: () => (ended += 1),
    onTrouble: () => undefined,
  });
  onTestFinished(async () => processor.drain(0));
  await until(
    () => ended,
    (count) => count === events.length - 1,
  );
  attempted.untilMs = clock.nowMs();
  await expectTimes("is.claimed", "claimed");
  await expectTimes("is.done", "done", undefined, attempted);
  await expectTimes("is.dead", "dead", undefined, attempted);
  expect((await expectTimes("has.failed", "pending", later(attempted, 2 * HOUR_MS))).deferredUntil).toBe(
    undefined,
  );
  const putOff = await expectTimes("was.put_off", "pending", later(attempted, 3 * HOUR_MS));
  expect(putOff.deferredUntil).toBe(putOff.next);

  await processor.drain(0);
  clock.move(HOUR_MS / 2);
  await engine.ledger.requeue([idOf("was.requeued")]);
  // Due at once: since it came, or since somebody wanted it again.
  await expectTimes("was.requeued", "pending", { fromMs: received.fromMs, untilMs: clock.nowMs() });
});

test("how long the oldest event waits is said in seconds, alike in the command, its JSON and the metrics", async () => {
  const clock = movableClock();
  const { engine, adminUrl } = await startTestReceiver({ clock });
  await engine.intake.accept([newEvent()]);
  clock.move(HOUR_MS);
  await engine.intake.accept([newEvent()]);
  const asJson = recordingTerminal();
  await inboxStatistics({ engine, terminal: asJson }, { json: true });
  const told = z
    .object({ oldest_unfinished_age_seconds: z.number() })
    .parse(JSON.parse(asJson.printed.join("")));
  const inWords = recordingTerminal();
  await inboxStatistics({ engine, terminal: inWords }, {});
  const words = /^The oldest unfinished event came (\d+) s ago\.$/.exec(inWords.printed.at(-1) ?? "")?.[1];
  const metrics = await (await get(`${adminUrl ?? ""}/metrics`)).text();
  const gauge = /^receiver_oldest_unfinished_event_age_seconds (\S+)$/m.exec(metrics)?.[1];
  for (const seconds of [told.oldest_unfinished_age_seconds, Number(words), Number(gauge)]) {
    expect(seconds).toBeGreaterThanOrEqual(3_600);
    expect(seconds).toBeLessThan(3_600 + 600);
  }
});
