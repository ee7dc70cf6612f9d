import { describe, expect, test } from "vitest";
import { CAUSES } from "../../../simulator/domain/causes.ts";
import { blameOf } from "../../../simulator/domain/attempts.ts";
import { injectedFaults, parseFault, type Fault } from "../../../simulator/domain/faults.ts";
import type { Handling } from "../../../simulator/domain/shapes.ts";
import { judgeDelivery, type DeliveryFacts } from "../../../simulator/domain/verdict.ts";

type Ending = number | NonNullable<DeliveryFacts["attempts"][number]["error"]> | "flying";

function faultsOf(texts: readonly string[]): Fault[] {
  return texts.map(parseFault).flatMap((parsed) => (parsed.ok ? [parsed.fault] : []));
}

/** A delivery whose attempts ended like this, with these faults. */
function delivery(
  endings: readonly Ending[],
  more: {
    faults?: string[];
    state?: DeliveryFacts["state"];
    isAgain?: boolean;
    isRecovered?: boolean;
    handled?: number;
  } & Partial<Pick<Handling, "isSettled" | "state">> & { receiverState?: string } = {},
) {
  const faults = faultsOf(more.faults ?? []);
  const attempts = endings.map((ending, index) => {
    const injected = injectedFaults(faults, index + 1);
    const httpStatus = typeof ending === "number" ? ending : null;
    const error = typeof ending === "number" || ending === "flying" ? null : ending;
    const endedAtMs = ending === "flying" ? null : 1;
    return { httpStatus, error, endedAtMs, injected, blame: blameOf({ httpStatus, error }, injected) };
  });
  const last = endings.at(-1);
  const isDelivered = typeof last === "number" && last >= 200 && last <= 299;
  const state = more.state ?? (isDelivered ? "delivered" : endings.length === 6 ? "dead" : "attempting");
  const handling =
    more.handled === undefined
      ? null
      : {
          handled: more.handled,
          duplicates: null,
          state: more.receiverState ?? null,
          isSettled: more.isSettled ?? true,
        };
  return judgeDelivery({
    state,
    attempts,
    isAgain: more.isAgain ?? false,
    isRecovered: more.isRecovered ?? false,
    handling,
  });
}

const SIX_500S = [500, 500, 500, 500, 500, 500] as const;

describe("an honest event", () => {
  test.each([
    ["on its way", () => delivery([]), "waiting", "On its way"],
    ["in flight", () => delivery(["flying"]), "waiting", "On its way"],
    ["acknowledged", () => delivery([200]), "ok", "Acknowledged"],
    ["handled once", () => delivery([204], { handled: 1 }), "ok", "Acknowledged, handled once"],
    ["late", () => delivery([500, 200]), "ok", "Acknowledged at attempt 2"],
    [
      "late, handled once",
      () => delivery([500, 200], { handled: 1 }),
      "ok",
      "Acknowledged at attempt 2, handled once",
    ],
    ["handled twice", () => delivery([200], { handled: 2 }), "not", "Handled twice"],
    [
      "not handled yet",
      () => delivery([200], { handled: 0, isSettled: false }),
      "waiting",
      "Acknowledged, not handled yet",
    ],
    ["never handled", () => delivery([200], { handled: 0 }), "not", "Acknowledged, but never handled"],
    [
      "ignored",
      () => delivery([200], { handled: 0, receiverState: "ignored" }),
      "ok",
      "Acknowledged and ignored",
    ],
    ["refused", () => delivery([401]), "not", "Not acknowledged so far (401)"],
    ["again in flight", () => delivery([503, "flying"]), "not", "Not acknowledged so far (503)"],
    ["given up", () => delivery(SIX_500S), "not", "Never acknowledged: gave up after six attempts (500)"],
    ["no answer", () => delivery(["timeout"]), "not", "Not acknowledged so far (timeout)"],
    ["interrupted", () => delivery(["interrupted"]), "waiting", "The simulator stopped meanwhile"],
    ["abandoned", () => delivery([], { state: "dead" }), "unknown", "Given up: its endpoint was deleted"],
  ] as const)("%s", (_name, judged, result, sentence) => {
    const verdict = judged();
    expect(verdict).toMatchObject({ meant: "honest", result, sentence });
    expect(verdict.why === null).toBe(result !== "not");
  });
});

describe("a wrong delivery", () => {
  test.each([
    [401, "signature_refused"],
    [404, "wrong_route"],
    [308, "redirected"],
    [400, "refused"],
    [500, "server_error"],
    ["dns", "unknown_host"],
    ["timeout", "timed_out"],
  ] as const)("that ended with %s is named and explained: %s", (ending, cause) => {
    const verdict = { result: "not", cause, why: CAUSES[cause].fix };
    expect(delivery([ending])).toMatchObject(verdict);
    expect(delivery([ending, ending, ending, ending, ending, ending])).toMatchObject(verdict);
  });

  test("depends on the purpose, unless there was no answer", () => {
    expect(delivery(["refused"], { isAgain: true }).cause).toBe("connection_refused");
    expect(delivery([422], { isAgain: true }).cause).toBe("duplicate_refused");
    expect(delivery([422], { faults: ["unknown-type"] }).cause).toBe("unfamiliar_refused");
    expect(delivery([200], { handled: 2 }).cause).toBe("handled_twice");
    expect(delivery([200], { handled: 0 }).cause).toBe("never_handled");
    expect(delivery([200], { faults: ["bad-signature"] }).cause).toBe("forgery_accepted");
    // Advice is not a failure.
    expect(delivery([500], { faults: ["bad-signature"] })).toMatchObject({
      cause: null,
      why: CAUSES.forgery_not_refused.fix,
    });
  });

  test.each([
    [undefined, "ok", "Gave up, recovered by a later delivery"],
    [0, "ok", "Gave up, recovered by a later delivery"],
    [1, "ok", "Gave up, recovered by a later delivery"],
    [2, "not", "Cut off on purpose, never acknowledged: gave up after one attempt (500)"],
  ])("that gave up and was brought later, handled %s times: %s", (handled, result, sentence) => {
    const endings = ["closed", "closed", "closed", "closed", "closed", 500] as const;
    const judged = delivery(endings, {
      faults: ["reset-mid-body:5"],
      isRecovered: true,
      ...(handled === undefined ? {} : { handled }),
    });
    expect(judged).toMatchObject({ result, sentence });
  });
});

describe("a forged event", () => {
  const forged = (endings: readonly Ending[], more: Parameters<typeof delivery>[1] = {}) =>
    delivery(endings, { faults: ["bad-signature"], ...more });
  test.each([
    ["in flight", () => forged(["flying"]), "waiting", "Forged on purpose: on its way"],
    ["refused", () => forged([401]), "ok", "Forged on purpose, refused (401)"],
    ["refused with 400", () => forged([400]), "ok", "Forged on purpose, refused (400)"],
    [
      "refused six times",
      () => forged([401, 401, 401, 401, 401, 401]),
      "ok",
      "Forged on purpose, refused (401)",
    ],
    ["not handled", () => forged([401], { handled: 0 }), "ok", "Forged on purpose, refused (401)"],
    ["accepted", () => forged([200]), "not", "Forged on purpose, and accepted"],
    ["accepted at last", () => forged([401, 299]), "not", "Forged on purpose, and accepted"],
    ["failing", () => forged([500]), "ok", "Forged on purpose, kept out by 500 instead of a 401"],
    ["redirected", () => forged([399]), "ok", "Forged on purpose, kept out by 399 instead of a 401"],
    [
      "handled",
      () => forged([401], { handled: 1 }),
      "not",
      "Forged on purpose, refused, and handled all the same",
    ],
    ["silent", () => forged(["timeout"]), "unknown", "Forged on purpose, unclear: no answer (timeout)"],
    [
      "then honest",
      () => delivery([401, 200], { faults: ["stale-timestamp:1"], handled: 1 }),
      "ok",
      "Forged on purpose, refused; then sent as it should be, handled once",
    ],
    [
      "then honest, refused too",
      () => delivery([401, 401], { faults: ["tampered-body:1"] }),
      "not",
      "Forged on purpose, refused; then sent as it should be, not acknowledged so far (401)",
    ],
  ] as const)("%s", (_name, judged, result, sentence) => {
    const verdict = judged();
    expect(verdict).toMatchObject({ meant: "forged", result, sentence });
  });

  test.each(["tampered-body", "stale-timestamp", "future-timestamp", "missing-parts"])("by %s", (fault) => {
    expect(delivery([200], { faults: [fault] })).toMatchObject({ meant: "forged", result: "not" });
  });
});

describe("an event whose answer was lost, or that was cut off", () => {
  const lost = (endings: readonly Ending[], more: Parameters<typeof delivery>[1] = {}) =>
    delivery(endings, { faults: ["drop-answer:1"], ...more });
  const always: Ending[] = ["closed", "closed", "closed", "closed", "closed", "closed"];
  test.each([
    ["on its way", () => lost(["flying"]), "waiting", "Answer lost on purpose: on its way"],
    ["waiting", () => lost(["closed"]), "waiting", "Answer lost on purpose: to be tried again"],
    [
      "handled once",
      () => lost(["closed", 200], { handled: 1 }),
      "ok",
      "Answer lost on purpose, retried, handled once",
    ],
    [
      "handled twice",
      () => lost(["closed", 200], { handled: 2 }),
      "not",
      "Answer lost on purpose, retried, handled twice",
    ],
    ["unseen", () => lost(["closed", 200]), "unknown", "Answer lost on purpose, retried, acknowledged"],
    ["refused", () => lost(["closed", 500]), "not", "Answer lost on purpose, not acknowledged so far (500)"],
    [
      "each time",
      () => lost(always, { faults: ["drop-answer"], handled: 1 }),
      "ok",
      "Answer lost on purpose each time, handled once",
    ],
    [
      "each time, handled thrice",
      () => lost(always, { faults: ["drop-answer"], handled: 3 }),
      "not",
      "Answer lost on purpose, handled 3 times",
    ],
    [
      "each time, unseen",
      () => lost(always, { faults: ["drop-answer"] }),
      "unknown",
      "Answer lost on purpose each time, unclear whether it was handled",
    ],
  ] as const)("%s", (_name, judged, result, sentence) => {
    const verdict = judged();
    expect(verdict).toMatchObject({ meant: "answer_lost", result, sentence });
  });

  test("is named by its fault", () => {
    expect(delivery(["closed", 200], { faults: ["reset-mid-body:1"], handled: 1 })).toMatchObject({
      meant: "cut_off",
      sentence: "Cut off on purpose, retried, handled once",
    });
  });
});

describe("an event that was repeated, of an unknown form, or slow", () => {
  test.each([
    ["handled once", () => delivery([200], { isAgain: true, handled: 1 }), "ok", "Duplicate, handled once"],
    [
      "handled twice",
      () => delivery([200], { isAgain: true, handled: 2 }),
      "not",
      "Duplicate, handled twice",
    ],
    ["unseen", () => delivery([200], { isAgain: true }), "unknown", "Duplicate, acknowledged"],
    ["refused", () => delivery([409], { isAgain: true }), "not", "Duplicate, not acknowledged so far (409)"],
    [
      "unfamiliar",
      () => delivery([200], { faults: ["unknown-fields"] }),
      "ok",
      "Unfamiliar on purpose, acknowledged",
    ],
    [
      "unfamiliar, ignored",
      () => delivery([200], { faults: ["unknown-type"], handled: 0, receiverState: "ignored" }),
      "ok",
      "Unfamiliar on purpose, acknowledged and ignored",
    ],
    [
      "unfamiliar, refused",
      () => delivery([400], { faults: ["minimal-objects"] }),
      "not",
      "Unfamiliar on purpose, not acknowledged so far (400)",
    ],
    ["slow", () => delivery([200], { faults: ["slow-body"] }), "ok", "Slow on purpose, acknowledged"],
  ] as const)("%s", (_name, judged, result, sentence) => {
    const verdict = judged();
    expect(verdict).toMatchObject({ result, sentence });
  });
});
