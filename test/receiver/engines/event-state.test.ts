import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { InboxJob } from "../../../receiver/engine.ts";
import { summaryOf } from "../../../receiver/engines/event-state.ts";

const STATES = ["pending", "claimed", "done", "dead", "ignored"] as const;
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });

const job: fc.Arbitrary<InboxJob> = fc.record({
  handler: fc.constantFrom("a", "b", "c"),
  state: fc.constantFrom(...STATES),
  attempts: fc.nat(9),
  handled: fc.nat(3),
  lastError: maybe(fc.constantFrom("one", "two", "three")),
  nextAttemptAtMs: maybe(fc.nat(99)),
  deferred: fc.boolean(),
  finishedAtMs: maybe(fc.nat(99)),
});

test("what is said of an event follows from its jobs, whatever they are", () => {
  fc.assert(
    fc.property(fc.array(job, { maxLength: 4 }), (jobs) => {
      const seen = summaryOf(jobs);
      const all = (state: InboxJob["state"]): InboxJob[] => jobs.filter((one) => one.state === state);
      // The first of these that any of them is in.
      const state = (["claimed", "pending", "dead", "done"] as const).find((one) => all(one).length > 0);
      expect(seen.state).toBe(state ?? "ignored");
      expect(seen.attempts).toBe(jobs.reduce((most, { attempts }) => (attempts > most ? attempts : most), 0));
      const isDone = state === "done";
      expect(seen.handled).toBe(
        isDone ? jobs.reduce((most, { handled }) => (handled > most ? handled : most), 0) : 0,
      );
      const isOver = state !== "claimed" && state !== "pending";
      const ends = jobs.flatMap(({ finishedAtMs }) => finishedAtMs ?? []).toSorted((a, b) => b - a);
      expect(seen.finishedAtMs).toBe(isOver ? (ends[0] ?? null) : null);
      const next = all("pending").flatMap(({ nextAttemptAtMs }) => nextAttemptAtMs ?? []);
      expect(seen.nextAttemptAtMs).toBe(next.toSorted((a, b) => a - b)[0] ?? null);
      const putOff = all("pending").filter(({ deferred }) => deferred);
      const until = putOff.flatMap(({ nextAttemptAtMs }) => nextAttemptAtMs ?? []).toSorted((a, b) => b - a);
      expect(seen.deferredUntilMs).toBe(until[0] ?? null);
      const errors = [...all("dead"), ...jobs].flatMap(({ lastError }) => lastError ?? []);
      expect(seen.lastError).toBe(errors[0] ?? null);
    }),
  );
});
