import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Handled } from "../../../receiver/engine.ts";
import type { Ending } from "../../../receiver/engines/ending.ts";
import { createProcessor } from "../../../receiver/engines/sqlite/processor.ts";
import { until } from "../helpers/until.ts";

/** An engine of one event, whose every write fails while there is trouble. */
function engineOfOne() {
  const event = {
    seq: 1,
    token: 1,
    id: "evt_1",
    type: "any",
    receivedAtMs: 0,
    body: "{}",
    attempts: 1,
    crashes: 0,
  };
  const ended: string[] = [];
  let left = [event];
  let failures = 0;
  let committed = false;
  let commitsLate = false;
  const end = (word: string) => (): boolean => {
    if (committed) return false;
    ended.push(word);
    return true;
  };
  const never = (): never => {
    throw new Error("This is not asked here.");
  };
  return {
    ended,
    fail: (times: number): void => {
      failures = times;
    },
    /** The commit that a handler's writes share with others' comes with the next transaction. */
    commitLate: (): void => {
      commitsLate = true;
    },
    parts: {
      claims: {
        claim: () => left.splice(0),
        settle: (_lease: unknown, { state }: Ending) => end(state)(),
        return: end("returned"),
        takeBack: () => 0,
        returnUnheard: () => undefined,
      },
      workers: {
        register: () => 1,
        beat: () => true,
        numberOf: () => 1,
        remove: () => undefined,
        vanished: () => [],
      },
      transactions: {
        run: async <Result>(statements: () => Result): Promise<Result> => {
          if (failures > 0) {
            failures -= 1;
            throw new Error("database is locked");
          }
          committed = commitsLate;
          return statements();
        },
        attempt: never,
      },
      handlerTransaction: () => ({ atomically: () => never, committed: () => committed }),
      clock: systemClock,
      retry: { maximumAttempts: 5, backoffMs: () => 0 },
    },
  };
}

test("an end that can't be written down is written as soon as it can", async () => {
  const engine = engineOfOne();
  const troubles: unknown[] = [];
  const handled: Handled[] = [];
  const processor = createProcessor(engine.parts, {
    workerId: "worker",
    concurrency: 1,
    handle: async () => {
      engine.fail(2);
      return { kind: "done" };
    },
    onHandled: (one) => void handled.push(one),
    onTrouble: (error) => void troubles.push(error),
  });
  await until(
    () => handled,
    ({ length }) => length > 0,
  );
  await processor.drain(0);
  expect(engine.ended).toEqual(["done"]);
  expect(handled).toMatchObject([{ id: "evt_1", outcome: "done" }]);
  expect(troubles.length).toBeGreaterThan(0);
});

test("an event whose common commit comes after its handler's time was up is reported as done", async () => {
  const engine = engineOfOne();
  const handled: Handled[] = [];
  const processor = createProcessor(engine.parts, {
    workerId: "worker",
    concurrency: 1,
    handle: async () => {
      engine.commitLate();
      return { kind: "failed", error: "DeadlinePassed" };
    },
    onHandled: (one) => void handled.push(one),
    onTrouble: (error) => expect.unreachable(String(error)),
  });
  await until(
    () => handled,
    ({ length }) => length > 0,
  );
  await processor.drain(0);
  expect(engine.ended).toEqual([]);
  expect(handled).toMatchObject([{ id: "evt_1", outcome: "done" }]);
  expect(handled[0]?.error).toBeUndefined();
});
