import { describe, expect, test } from "vitest";
import type { HandledCounts } from "../../simulator/verify/check.ts";
import {
  allAcknowledged,
  allRefused,
  every,
  handledTimes,
  noneAcknowledged,
} from "../../simulator/verify/judgement.ts";
import { taken } from "../../simulator/verify/attempts.ts";
import { resultOf, verdictOf } from "../../simulator/verify/report.ts";
import { unprovenSentence } from "../../simulator/verify/summary.ts";
import { createRedactor } from "../../simulator/text/redact.ts";
import { reachableCheck } from "../../simulator/verify/preflight.ts";
import { exchange } from "./exchange.ts";

describe("a delivery counts as acknowledged", () => {
  test.each([200, 201, 204, 299])("with %i", (status) => {
    expect(allAcknowledged([exchange(status)])).toEqual({ outcome: "passed" });
    expect(allRefused([exchange(status)]).outcome).toBe("failed");
    expect(noneAcknowledged([exchange(401), exchange(status)]).outcome).toBe("failed");
  });

  test.each([300, 302, 304, 400, 401, 404, 500, 503])("not with %i, which is a refusal", (status) => {
    expect(allAcknowledged([exchange(200), exchange(status)])).toMatchObject({
      outcome: "failed",
      problem: expect.stringContaining(`answered ${status}`),
    });
    expect(allRefused([exchange(status)])).toEqual({ outcome: "passed" });
    expect(noneAcknowledged([exchange(status)])).toEqual({ outcome: "passed" });
  });

  test.each(["dns", "refused", "tls", "reset", "closed", "timeout", "protocol", "cut"] as const)(
    "not without an answer: %s",
    (error) => {
      expect(allAcknowledged([exchange(error)]).outcome).toBe("failed");
      expect(noneAcknowledged([exchange(error)])).toEqual({ outcome: "passed" });
    },
  );
});

describe("a forgery counts as refused", () => {
  test.each(["reset", "closed"] as const)("when the connection ends: %s", (error) => {
    expect(allRefused([exchange(error)])).toEqual({ outcome: "passed" });
  });

  test("not without an answer in time: it may have been accepted", () => {
    expect(allRefused([exchange(401), exchange("timeout")])).toMatchObject({
      outcome: "failed",
      problem: expect.stringContaining("no answer"),
    });
  });

  test.each(["dns", "refused", "tls", "protocol"] as const)("nor proven without a server: %s", (error) => {
    expect(allRefused([exchange(error)]).outcome).toBe("unverified");
  });

  test("by all of them, whichever comes first", () => {
    expect(allRefused([exchange(401), exchange(200)]).outcome).toBe("failed");
    expect(allRefused([exchange(200), exchange(401)]).outcome).toBe("failed");
  });
});

describe("an event counts as handled", () => {
  const counts = (count: number): HandledCounts => ({ of: () => ({ known: true, count }) });

  test.each([
    [0, 1, 1, "failed"],
    [1, 1, 1, "passed"],
    [2, 1, 1, "failed"],
    [0, 0, 1, "passed"],
    [1, 0, 1, "passed"],
    [2, 0, 1, "failed"],
    [0, 0, 0, "passed"],
    [1, 0, 0, "failed"],
  ])("%i times where %i to %i are right: %s", (count, least, most, outcome) => {
    expect(handledTimes(counts(count), [exchange(200)], { least, most }).outcome).toBe(outcome);
  });

  test.each([
    [{ deferredUntil: "2026-11-28T09:00:00Z" }, /deferred event evt_1 until 2026-11-28T09:00:00Z/, "passed"],
    [{ isIgnored: true }, /ignores event evt_1: it has no handler for the type/, "failed"],
  ])("or is left open if the receiver reports %o", (more, reason, strict) => {
    const open: HandledCounts = { of: () => ({ known: true, count: 0, ...more }) };
    const verdict = handledTimes(open, [exchange(200)], { least: 1, most: 1 });
    expect(verdict).toMatchObject({ outcome: "unverified", reason: expect.stringMatching(reason) });
    // `--fail-on unverified` must not fail a receiver that only handles events in office hours.
    const redact = createRedactor([]);
    const results = [
      resultOf({ ...reachableCheck, id: "effects.burst" }, verdict, { durationMs: 1, redact }),
    ];
    expect(verdictOf(results, ["unverified"])).toBe(strict);
    expect(unprovenSentence(results) !== undefined).toBe(strict === "passed");
  });

  test("or is left open by an ignored event, even beside a deferred one", () => {
    const until = { deferredUntil: "2026-11-28T09:00:00Z" };
    for (const ignored of ["evt_1", "evt_2"]) {
      const of = (id: string) => ({
        known: true as const,
        count: 0,
        ...(id === ignored ? { isIgnored: true } : until),
      });
      const both = [exchange(200), exchange(200, { eventId: "evt_2" })];
      expect(handledTimes({ of }, both, { least: 1, most: 1 })).toMatchObject({ isDeferred: false });
    }
  });

  test("or fails by its answer, where it was never acknowledged", () => {
    expect(handledTimes(counts(0), [exchange(500)], { least: 1, most: 1 })).toMatchObject({
      cause: "server_error",
    });
  });

  test("but not by a count that could not be read", () => {
    const unknown: HandledCounts = { of: () => ({ known: false, reason: "unreadable" }) };
    expect(handledTimes(unknown, [exchange(200)], { least: 0, most: 9 })).toEqual({
      outcome: "unverified",
      reason: "unreadable",
    });
  });

  test("each by its own count", () => {
    const first: HandledCounts = { of: (id) => ({ known: true, count: id === "evt_1" ? 1 : 0 }) };
    const exchanges = [exchange(200), exchange(200, { eventId: "evt_2" })];
    expect(handledTimes(first, exchanges, { least: 1, most: 1 })).toMatchObject({
      outcome: "failed",
      exchanges: [{ eventId: "evt_2" }],
    });
  });
});

test("the attempts of an event end with the last of them", () => {
  expect(taken([exchange(503), exchange(200)])).toEqual({ outcome: "passed" });
  expect(taken([exchange(200), exchange(503)]).outcome).toBe("failed");
});

test("of several verdicts a failure has priority over an unverified one", () => {
  const failed = { outcome: "failed" as const, cause: "refused" as const, problem: "p", exchanges: [] };
  const unverified = { outcome: "unverified" as const, reason: "r" };
  expect(every({ outcome: "passed" }, failed, unverified)).toBe(failed);
  expect(every(unverified, failed)).toBe(failed);
  expect(every(unverified)).toBe(unverified);
  expect(every()).toEqual({ outcome: "passed" });
});

test("what a report says of a check holds no secret that the receiver repeated", () => {
  const redact = createRedactor(["whsec_repeated_by_it"]);
  const problem = "It answered 500: whsec_repeated_by_it is wrong.";
  const result = resultOf(
    reachableCheck,
    { outcome: "failed", cause: "server_error", problem, exchanges: [] },
    { durationMs: 1, redact },
  );
  expect(result.explanation).toBe("It answered 500: [redacted] is wrong.");
});
