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
  const { handled, isSettled = true, isAgain = false, isRecovered = false } = more;
  const rest = { duplicates: null, state: more.receiverState ?? null, isSettled };
  const handling = handled === undefined ? null : { handled, ...rest };
  return judgeDelivery({ state, attempts, isAgain, isRecovered, handling });
}

/** The same from words: how the attempts ended and what else is known, as `500 200 handled=1 again`. */
function verdictOf(facts: string, faults: string[] = []) {
  const more: NonNullable<Parameters<typeof delivery>[1]> & { faults: string[] } = { faults };
  const endings: Ending[] = [];
  for (const word of facts.split(" ").filter(Boolean)) {
    const [name = "", value = ""] = word.split("=");
    if (name === "handled") more.handled = Number(value);
    else if (name === "fault") more.faults = [value];
    else if (name === "unsettled") more.isSettled = false;
    else if (name === "ignored") more.receiverState = "ignored";
    else if (name === "again") more.isAgain = true;
    else if (name === "dead") more.state = "dead";
    else endings.push(Number(name) || (name as Ending));
  }
  const { meant, result, sentence, why } = delivery(endings, more);
  return { meant, said: `${result}: ${sentence}`, why };
}

describe("an honest event", () => {
  test.each(
    Object.entries({
      "": "waiting: On its way",
      flying: "waiting: On its way",
      "200": "ok: Acknowledged",
      "204 handled=1": "ok: Acknowledged, handled once",
      "500 200": "ok: Acknowledged at attempt 2",
      "500 200 handled=1": "ok: Acknowledged at attempt 2, handled once",
      "200 handled=2": "not: Handled twice",
      "200 handled=0 unsettled": "waiting: Acknowledged, not handled yet",
      "200 handled=0": "not: Acknowledged, but never handled",
      "200 handled=0 ignored": "ok: Acknowledged and ignored",
      "401": "not: Not acknowledged so far (401)",
      "503 flying": "not: Not acknowledged so far (503)",
      "500 500 500 500 500 500": "not: Never acknowledged: gave up after six attempts (500)",
      timeout: "not: Not acknowledged so far (timeout)",
      interrupted: "waiting: The simulator stopped meanwhile",
      dead: "unknown: Given up: its endpoint was deleted",
    }),
  )("%s", (facts, said) => {
    const verdict = verdictOf(facts);
    expect(verdict).toMatchObject({ meant: "honest", said });
    expect(verdict.why === null).toBe(!said.startsWith("not"));
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
  test.each(
    Object.entries({
      flying: "waiting: Forged on purpose: on its way",
      "401": "ok: Forged on purpose, refused (401)",
      "400": "ok: Forged on purpose, refused (400)",
      "401 401 401 401 401 401": "ok: Forged on purpose, refused (401)",
      "401 handled=0": "ok: Forged on purpose, refused (401)",
      "200": "not: Forged on purpose, and accepted",
      "401 299": "not: Forged on purpose, and accepted",
      "500": "ok: Forged on purpose, kept out by 500 instead of a 401",
      "399": "ok: Forged on purpose, kept out by 399 instead of a 401",
      "401 handled=1": "not: Forged on purpose, refused, and handled all the same",
      timeout: "unknown: Forged on purpose, unclear: no answer (timeout)",
      "401 200 handled=1 fault=stale-timestamp:1":
        "ok: Forged on purpose, refused; then sent as it should be, handled once",
      "401 401 fault=tampered-body:1":
        "not: Forged on purpose, refused; then sent as it should be, not acknowledged so far (401)",
    }),
  )("%s", (facts, said) => {
    expect(verdictOf(facts, ["bad-signature"])).toMatchObject({ meant: "forged", said });
  });

  test.each(["tampered-body", "stale-timestamp", "future-timestamp", "missing-parts"])("by %s", (fault) => {
    expect(delivery([200], { faults: [fault] })).toMatchObject({ meant: "forged", result: "not" });
  });
});

describe("an event whose answer was lost, or that was cut off", () => {
  const always = "closed closed closed closed closed closed fault=drop-answer";
  test.each(
    Object.entries({
      flying: "waiting: Answer lost on purpose: on its way",
      closed: "waiting: Answer lost on purpose: to be tried again",
      "closed 200 handled=1": "ok: Answer lost on purpose, retried, handled once",
      "closed 200 handled=2": "not: Answer lost on purpose, retried, handled twice",
      "closed 200": "unknown: Answer lost on purpose, retried, acknowledged",
      "closed 500": "not: Answer lost on purpose, not acknowledged so far (500)",
      [`${always} handled=1`]: "ok: Answer lost on purpose each time, handled once",
      [`${always} handled=3`]: "not: Answer lost on purpose, handled 3 times",
      [always]: "unknown: Answer lost on purpose each time, unclear whether it was handled",
    }),
  )("%s", (facts, said) => {
    expect(verdictOf(facts, ["drop-answer:1"])).toMatchObject({ meant: "answer_lost", said });
  });

  test("is named by its fault", () => {
    const said = "ok: Cut off on purpose, retried, handled once";
    expect(verdictOf("closed 200 handled=1", ["reset-mid-body:1"])).toMatchObject({ meant: "cut_off", said });
  });
});

test.each(
  Object.entries({
    "200 again handled=1": "ok: Duplicate, handled once",
    "200 again handled=2": "not: Duplicate, handled twice",
    "200 again": "unknown: Duplicate, acknowledged",
    "409 again": "not: Duplicate, not acknowledged so far (409)",
    "200 fault=unknown-fields": "ok: Unfamiliar on purpose, acknowledged",
    "200 fault=unknown-type handled=0 ignored": "ok: Unfamiliar on purpose, acknowledged and ignored",
    "400 fault=minimal-objects": "not: Unfamiliar on purpose, not acknowledged so far (400)",
    "200 fault=slow-body": "ok: Slow on purpose, acknowledged",
  }),
)("an event that was repeated, of an unknown form, or slow: %s", (facts, said) => {
  expect(verdictOf(facts)).toMatchObject({ said });
});
