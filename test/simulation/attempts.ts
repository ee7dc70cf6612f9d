import assert from "node:assert/strict";
import type { Handled } from "../../receiver/engine.ts";

type Begun = { worker: string; attempt: number; atMs: number };

/**
 * Who handled what, and when, as the workers tell. An attempt that ended is its worker's own to end: nobody may have
 * begun another of the same job before (R5, R6: a late worker can change nothing).
 */
export function createAttempts(monotonicMs: () => number): {
  begins: (worker: string, job: { handler: string; id: string; attempt: number }) => void;
  /** Throws when the attempt was not the worker's to end any more. */
  ends: (worker: string, handled: Handled) => void;
} {
  const begun = new Map<string, Begun[]>();
  return {
    begins: (worker, { handler, id, attempt }) => {
      const job = `${handler} ${id}`;
      begun.set(job, [...(begun.get(job) ?? []), { worker, attempt, atMs: monotonicMs() }]);
    },
    ends: (worker, { handler, id, attempt, outcome }) => {
      if (outcome === "lost") return;
      const all = begun.get(`${handler} ${id}`) ?? [];
      const mine = all.findLastIndex((one) => one.worker === worker && one.attempt === attempt);
      // One that begins in the same instant may follow from this end.
      const other = all.slice(mine + 1).find(({ atMs }) => atMs < monotonicMs());
      assert.equal(
        other,
        undefined,
        `R5: ${handler} ${id} is ${outcome}, says ${worker}, and ${other?.worker ?? ""} had it`,
      );
    },
  };
}
