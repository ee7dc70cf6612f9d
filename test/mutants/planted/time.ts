import type { Mutant } from "../mutants.ts";
import { CORRECT } from "../behaviour.ts";
import { within, HOUR_SECONDS } from "./helpers.ts";

/** Bugs in how t is compared with the clock. */
export const TIME: Record<string, Mutant> = {
  "window-of-299": {
    bug: "takes 300 s for too old already",
    plant: { ageAccepted: within((age) => Math.abs(age) < 300) },
    caughtBy: "signature.past-300",
    cause: "signature_refused",
  },
  "window-of-298": {
    bug: "takes 299 s for too old already",
    plant: { ageAccepted: within((age) => age < 299 && age >= -300) },
    caughtBy: "signature.past-299",
    cause: "signature_refused",
  },
  "future-window-of-298": {
    bug: "takes 299 s ahead for too new already",
    plant: { ageAccepted: within((age) => age <= 300 && age > -299) },
    caughtBy: "signature.future-299",
    cause: "signature_refused",
  },
  "window-of-301": {
    bug: "accepts 301 s of age",
    plant: { ageAccepted: within((age) => age <= 301 && age >= -300) },
    caughtBy: "signature.past-301",
    cause: "forgery_accepted",
  },
  "future-window-of-301": {
    bug: "accepts a t 301 s ahead",
    plant: { ageAccepted: within((age) => age <= 300 && age >= -301) },
    caughtBy: "signature.future-301",
    cause: "forgery_accepted",
  },
  "narrow-window": {
    bug: "accepts a minute only",
    plant: { ageAccepted: within((age) => Math.abs(age) <= 60) },
    caughtBy: "signature.signed-just-now",
    cause: "signature_refused",
  },
  "one-sided": {
    bug: "refuses old deliveries only, so that a t far ahead never expires",
    plant: { ageAccepted: within((age) => age <= 300) },
    caughtBy: "signature.future-decade",
    cause: "forgery_accepted",
  },
  "only-the-future": {
    bug: "refuses a t ahead only, so that a captured delivery stays valid",
    plant: { ageAccepted: within((age) => age >= -300) },
    caughtBy: "signature.stale-day",
    cause: "forgery_accepted",
  },
  "hours-of-tolerance": {
    bug: "accepts two hours on either side",
    plant: { ageAccepted: within((age) => Math.abs(age) <= 2 * HOUR_SECONDS) },
    caughtBy: "signature.stale-hour",
    cause: "forgery_accepted",
  },
  "year-ahead": {
    bug: "accepts a t an hour ahead",
    plant: { ageAccepted: within((age) => age <= 300 && age >= -2 * HOUR_SECONDS) },
    caughtBy: "signature.future-hour",
    cause: "forgery_accepted",
  },
  milliseconds: {
    bug: "takes a large t for milliseconds",
    plant: {
      ageAccepted: (t, nowMs) =>
        CORRECT.ageAccepted(Number(t) > 1e12 ? String(Math.floor(Number(t) / 1_000)) : t, nowMs),
    },
    caughtBy: "signature.milliseconds",
    cause: "forgery_accepted",
  },
  "falsy-t": {
    bug: "skips the clock when t is 0",
    plant: { ageAccepted: (t, nowMs) => Number(t) === 0 || CORRECT.ageAccepted(t, nowMs) },
    caughtBy: "signature.epoch",
    cause: "forgery_accepted",
  },
  "not-a-number": {
    bug: "compares NaN with 300, which is never greater",
    plant: { ageAccepted: (t, nowMs) => !(Math.abs(Math.floor(nowMs / 1_000) - Number(t)) > 300) },
    caughtBy: "signature.not-a-number",
    cause: "forgery_accepted",
  },
  "parse-int": {
    bug: "reads t with parseInt, which stops at the first letter",
    plant: { ageAccepted: (t, nowMs) => Math.abs(Math.floor(nowMs / 1_000) - Number.parseInt(t, 10)) <= 300 },
    caughtBy: "signature.trailing-garbage",
    cause: "forgery_accepted",
  },
  "two-clocks": {
    bug: "holds the last t against the clock, but verifies with the first",
    plant: {
      chooseT: (ts) => (ts[0] === undefined ? undefined : { aged: ts.at(-1) ?? ts[0], signed: ts[0] }),
    },
    caughtBy: "signature.second-t",
    cause: "forgery_accepted",
  },
};
