import type { Mutant } from "../mutant.ts";
import { CORRECT } from "../receiver.ts";
import { within, HOUR_SECONDS } from "./helpers.ts";

/** Bugs in how t is held against the clock. */
export const TIME: Record<string, Mutant> = {
  "window-of-299": {
    bug: "takes 300 s for too old already",
    plant: { ageAccepted: within((age) => Math.abs(age) < 300) },
    caughtBy: "signature.past-300",
    alsoBy: ["signature.future-300"],
  },
  "window-of-298": {
    bug: "takes 299 s for too old already",
    plant: { ageAccepted: within((age) => age < 299 && age >= -300) },
    caughtBy: "signature.past-299",
    alsoBy: ["signature.past-300"],
  },
  "future-window-of-298": {
    bug: "takes 299 s ahead for too new already",
    plant: { ageAccepted: within((age) => age <= 300 && age > -299) },
    caughtBy: "signature.future-299",
    alsoBy: ["signature.future-300"],
  },
  "window-of-301": {
    bug: "accepts 301 s of age",
    plant: { ageAccepted: within((age) => age <= 301 && age >= -300) },
    caughtBy: "signature.past-301",
  },
  "future-window-of-301": {
    bug: "accepts a t 301 s ahead",
    plant: { ageAccepted: within((age) => age <= 300 && age >= -301) },
    caughtBy: "signature.future-301",
  },
  "narrow-window": {
    bug: "accepts a minute only",
    plant: { ageAccepted: within((age) => Math.abs(age) <= 60) },
    caughtBy: "signature.signed-just-now",
    alsoBy: ["signature.past-299", "signature.past-300", "signature.future-299", "signature.future-300"],
  },
  "one-sided": {
    bug: "refuses old deliveries only, so that a t far ahead never expires",
    plant: { ageAccepted: within((age) => age <= 300) },
    caughtBy: "signature.future-decade",
    alsoBy: ["signature.future-301", "signature.future-hour", "signature.milliseconds"],
  },
  "only-the-future": {
    bug: "refuses a t ahead only, so that a captured delivery stays valid",
    plant: { ageAccepted: within((age) => age >= -300) },
    caughtBy: "signature.stale-day",
    alsoBy: ["signature.past-301", "signature.stale-hour", "signature.epoch", "effects.forged"],
  },
  "hours-of-tolerance": {
    bug: "accepts two hours on either side",
    plant: { ageAccepted: within((age) => Math.abs(age) <= 2 * HOUR_SECONDS) },
    caughtBy: "signature.stale-hour",
    alsoBy: ["signature.past-301", "signature.future-301", "signature.future-hour", "effects.forged"],
  },
  "year-ahead": {
    bug: "accepts a t an hour ahead",
    plant: { ageAccepted: within((age) => age <= 300 && age >= -2 * HOUR_SECONDS) },
    caughtBy: "signature.future-hour",
    alsoBy: ["signature.future-301"],
  },
  milliseconds: {
    bug: "takes a large t for milliseconds",
    plant: {
      ageAccepted: (t, nowMs) =>
        CORRECT.ageAccepted(Number(t) > 1e12 ? String(Math.floor(Number(t) / 1_000)) : t, nowMs),
    },
    caughtBy: "signature.milliseconds",
  },
  "falsy-t": {
    bug: "skips the clock when t is 0",
    plant: { ageAccepted: (t, nowMs) => Number(t) === 0 || CORRECT.ageAccepted(t, nowMs) },
    caughtBy: "signature.epoch",
    alsoBy: ["signature.empty-t"],
  },
  "not-a-number": {
    bug: "compares NaN with 300, which is never greater",
    plant: { ageAccepted: (t, nowMs) => !(Math.abs(Math.floor(nowMs / 1_000) - Number(t)) > 300) },
    caughtBy: "signature.not-a-number",
    alsoBy: ["signature.trailing-garbage"],
  },
  "parse-int": {
    bug: "reads t with parseInt, which stops at the first letter",
    plant: { ageAccepted: (t, nowMs) => Math.abs(Math.floor(nowMs / 1_000) - Number.parseInt(t, 10)) <= 300 },
    caughtBy: "signature.trailing-garbage",
  },
  "two-clocks": {
    bug: "holds the last t against the clock, but verifies with the first",
    plant: {
      chooseT: (ts) => (ts[0] === undefined ? undefined : { aged: ts.at(-1) ?? ts[0], signed: ts[0] }),
    },
    caughtBy: "signature.second-t",
  },
};
