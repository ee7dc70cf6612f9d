import { expect, test } from "vitest";
import { answerFigures, blameOf, type JudgedAttempt } from "../../../simulator/domain/attempts.ts";
import { createJournal } from "../../../simulator/domain/journal.ts";
import { forgeryAnswer, isRefusal, isSuccess } from "../../../simulator/domain/judgement.ts";

const STATUSES = [199, 200, 204, 299, 300, 301, 399, 400, 401, 404, 499, 500, 503, 599];

test.each(STATUSES)("what %i counts as", (status) => {
  const family = Math.floor(status / 100);
  expect(isSuccess(status)).toBe(family === 2);
  expect(isRefusal(status)).toBe(family === 4);
  const others = { 2: "accepted", 4: "refused" }[family];
  expect(forgeryAnswer(status)).toBe(others ?? "failed");
  const isWell = family === 2;
  expect(blameOf({ httpStatus: status, error: null }, [])).toBe(isWell ? null : "receiver");
  expect(blameOf({ httpStatus: status, error: null }, [{ name: "bad-signature" }])).toBe(
    isWell ? null : "simulator",
  );
});

test("who caused a missing answer", () => {
  expect(blameOf({ httpStatus: null, error: null }, [])).toBeNull();
  expect(blameOf({ httpStatus: null, error: "timeout" }, [])).toBe("receiver");
  expect(blameOf({ httpStatus: null, error: "closed" }, [{ name: "drop-answer" }])).toBe("simulator");
  expect(blameOf({ httpStatus: null, error: "interrupted" }, [])).toBe("simulator");
});

function attempt(durationMs: number | null, more: Partial<JudgedAttempt> = {}): JudgedAttempt {
  return {
    deliveryId: "dlv_1",
    number: 1,
    scheduledAtMs: 0,
    startedAtMs: 0,
    endedAtMs: 1,
    wallStartedAtMs: 0,
    durationMs,
    signatureTimestamp: 0,
    httpStatus: 200,
    error: null,
    errorDetail: null,
    injected: [],
    fault: null,
    blame: null,
    ...more,
  };
}

test.each([
  [0, null],
  [1, 1],
  [19, 19],
  [20, 19],
  [21, 20],
  [100, 95],
])("of %i answers that took 1, 2, 3 … ms, 95 %% took at most %s ms", (count, p95Ms) => {
  const attempts = Array.from({ length: count }, (_, n) => attempt(count - n));
  expect(answerFigures(attempts)).toEqual({ counted: count, acknowledged: count, p95Ms });
});

test("an endpoint's figures count only attempts that it ended itself", () => {
  const attempts = [
    attempt(10),
    attempt(20, { httpStatus: 500, blame: "receiver" }),
    attempt(90, { httpStatus: null, error: "timeout", blame: "receiver" }),
    attempt(30, { httpStatus: 401, blame: "simulator" }),
    attempt(null, { httpStatus: null, endedAtMs: null }),
  ];
  expect(answerFigures(attempts)).toEqual({ counted: 3, acknowledged: 1, p95Ms: 20 });
});

test("a journal keeps its last entries, and knows which are complete", () => {
  const journal = createJournal({ firstId: 10 });
  const entries: number[] = [];
  const stop = journal.watch(({ id }) => void entries.push(id));
  expect([journal.lastId(), journal.since(9), journal.since(10)]).toEqual([9, [], undefined]);
  for (let count = 0; count < 5_000; count += 1) journal.write({ kind: "clock.changed" });
  expect(journal.since(9)).toHaveLength(5_000);
  stop();
  journal.write({ kind: "clock.changed" });
  expect(entries).toHaveLength(5_000);
  expect(journal.lastId()).toBe(5_010);
  expect(journal.since(9)).toBeUndefined();
  expect(journal.since(2_508)).toBeUndefined();
  expect(journal.since(2_509)?.map(({ id }) => id)).toEqual(
    Array.from({ length: 2_501 }, (_, n) => 2_510 + n),
  );
  expect(journal.since(5_010)).toEqual([]);
  expect(journal.since(5_011)).toBeUndefined();
});
