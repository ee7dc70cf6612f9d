import { describe, expect, test } from "vitest";
import type { Claim, InboxEvent, InboxJob, Outcome } from "../../../receiver/engine.ts";
import { accept, handler, newEvent, setUp, type CreateBackend } from "./harness.ts";

const HOUR_MS = 3_600_000;

/** What operators are shown: each field against what a test knows by itself. Points in time are told in hours from now. */
export function describeViews(name: string, createBackend: CreateBackend): void {
  describe(`${name}: what is shown`, () => {
    test("says each field of an event in each state, and what a requeue leaves of it", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const types = ["fresh", "done", "failed", "later", "dead", "later-dead", "ignored"];
      const events = types.map((type) => newEvent({ type }));
      const fresh = events.shift()!;
      await accept(engine, events);
      const handlers = [handler({ types: types.slice(0, -1), backoffMs: () => 5 * HOUR_MS })];
      const putOff = new Set<string>();
      const onceLater = async (claim: Claim): Promise<Outcome> => {
        if (claim.type !== "later-dead" || putOff.has(claim.id)) return handle(claim);
        putOff.add(claim.id);
        return { kind: "later", reason: "not now", delayMs: HOUR_MS / 2 };
      };
      const first = await processing(onceLater, { handlers });
      await ended(5);
      await first.drain(0);
      await pass(HOUR_MS);
      const second = await processing(onceLater, { handlers });
      await ended(6);
      await second.drain(0);
      await pass(HOUR_MS);
      await accept(engine, [fresh]);
      await engine.intake.accept([events[0]!]);

      const nothing = { attempts: 0, handled: 0, lastError: null, finished: null, next: null, until: null };
      expect(await shown("fresh")).toMatchObject({ ...nothing, state: "pending", received: 0, next: 0 });
      const old = { ...nothing, attempts: 1, received: -2 };
      expect(await shown("done")).toEqual(of({ ...old, state: "done", handled: 1, finished: -2 }));
      expect(await shown("failed")).toEqual(of({ ...old, state: "pending", lastError: "not yet", next: 3 }));
      expect(await shown("later")).toEqual(
        of({ ...old, state: "pending", attempts: 0, lastError: "not now", next: 7, until: 7 }),
      );
      expect(await shown("dead")).toEqual(of({ ...old, state: "dead", lastError: "hopeless", finished: -2 }));
      expect(await shown("later-dead")).toEqual(
        of({ ...old, state: "dead", lastError: "hopeless", finished: -1 }),
      );
      expect(await shown("ignored")).toMatchObject({
        ...nothing,
        state: "ignored",
        received: -2,
        finished: -2,
      });

      expect(await engine.ledger.requeue(events.map(({ id }) => id))).toBe(3);
      for (const type of ["dead", "later-dead"]) {
        const again = await shown(type);
        expect(again).toEqual(of({ ...nothing, state: "pending", received: -2, next: again.next }));
        // At once, however that is put.
        expect(again.next).toBeLessThanOrEqual(0);
      }
      expect(await shown("ignored")).toMatchObject({
        ...nothing,
        state: "pending",
        next: expect.any(Number),
      });

      async function shown(type: string): Promise<Shown> {
        const event = (await engine.ledger.find([fresh, ...events].find((one) => one.type === type)!.id))!;
        expect(event).toMatchObject({ type, source: "webhook", duplicates: type === "done" ? 1 : 0 });
        return inHours(event, await engine.nowMs());
      }
    });

    test("splits an event by the handlers that were announced last, also one of a type that it has split before", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      const one = handler({ name: "one" });
      await accept(engine, [newEvent({ type: "done" })]);
      await processing(handle, { handlers: [one] });
      await ended(1);
      const newer = await processing(handle, {
        engine: await open(),
        handlers: [one, handler({ name: "two", types: ["done"] })],
      });
      await newer.drain(0);
      const event = newEvent({ type: "done" });
      await accept(engine, [event]);
      await ended(2);
      const { jobs } = (await engine.ledger.find(event.id))!;
      expect(jobs).toMatchObject([
        { handler: "one", state: "done" },
        { handler: "two", state: "pending" },
      ]);
    });

    test("counts the age of the one that was received first, whatever it waits for", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const ageInHours = async (): Promise<number> =>
        Math.round((await engine.ledger.counts()).oldestUnfinishedAgeMs! / HOUR_MS);
      const types = ["dead", "later", "failed"];
      for (const type of types) {
        await accept(engine, [newEvent({ type })]);
        await pass(HOUR_MS);
      }
      expect(await ageInHours()).toBe(3);
      const processor = await processing(handle, { handlers: [handler({ backoffMs: () => 5 * HOUR_MS })] });
      await ended(3);
      await processor.drain(0);
      await accept(engine, [newEvent({ type: "fresh" })]);
      expect(await ageInHours()).toBe(2);
      const [dead] = await engine.ledger.list({ state: "dead" }, { limit: 1 });
      await engine.ledger.requeue([dead!.id]);
      expect(await ageInHours()).toBe(3);
    });
  });
}

async function handle({ type }: Claim): Promise<Outcome> {
  if (type === "later") return { kind: "later", reason: "not now", delayMs: 9 * HOUR_MS };
  if (type === "failed") return { kind: "failed", error: "not yet" };
  return type === "done" ? { kind: "done" } : { kind: "dead", error: "hopeless" };
}

type Shown = ReturnType<typeof inHours>;

/** With the one job that it has. */
function of(event: Omit<Shown, "jobs" | "state"> & Pick<InboxJob, "state">): Shown {
  const { received: _received, until, ...job } = event;
  return { ...event, jobs: [{ handler: "everything", ...job, deferred: until !== null }] };
}

/** Without what is the same for all, and points in time as whole hours from now. */
function inHours(event: InboxEvent, nowMs: number) {
  const hours = (ms: number | null): number | null =>
    ms === null ? null : Math.round((ms - nowMs) / HOUR_MS) + 0;
  const { state, attempts, handled, lastError } = event;
  return {
    state,
    attempts,
    handled,
    lastError,
    received: hours(event.receivedAtMs),
    finished: hours(event.finishedAtMs),
    next: hours(event.nextAttemptAtMs),
    until: hours(event.deferredUntilMs),
    jobs: event.jobs.map((job) => ({
      handler: job.handler,
      state: job.state,
      attempts: job.attempts,
      handled: job.handled,
      lastError: job.lastError,
      finished: hours(job.finishedAtMs),
      next: hours(job.nextAttemptAtMs),
      deferred: job.deferred,
    })),
  };
}
