import { timingSafeEqual } from "node:crypto";
import type { Mutant } from "../mutants.ts";
import { CORRECT } from "../behaviour.ts";
import { dies, join, orWhen } from "./helpers.ts";

/** Bugs in how the digest is made and compared. */
export const DIGEST: Record<string, Mutant> = {
  "no-header-no-check": {
    bug: "verifies only when there is a header",
    plant: { verdict: (isVerified, headers) => isVerified || headers.length === 0 },
    caughtBy: "signature.missing-header",
    cause: "forgery_accepted",
  },
  "empty-header": {
    bug: "takes an empty header for a switched-off check",
    plant: { verdict: (isVerified, headers) => isVerified || headers[0] === "" },
    caughtBy: "signature.empty-header",
    cause: "forgery_accepted",
  },
  "t-defaults-to-now": {
    bug: "fills in the current time for a missing t",
    plant: {
      chooseT: ([t = ""], nowSeconds) => ({ aged: t || String(nowSeconds), signed: t || String(nowSeconds) }),
    },
    caughtBy: "signature.no-t",
    cause: "forgery_accepted",
  },
  "empty-t": {
    bug: "skips the clock when t is empty",
    plant: { ageAccepted: (t, nowMs) => t === "" || CORRECT.ageAccepted(t, nowMs) },
    caughtBy: "signature.empty-t",
    cause: "forgery_accepted",
  },
  "no-v1-no-check": {
    bug: "compares only when there is a v1",
    plant: {
      chooseV1: (v1s) => (v1s.length === 0 ? ["none"] : v1s),
      digestAccepted: orWhen((v1) => v1 === "none"),
    },
    caughtBy: "signature.no-v1",
    cause: "forgery_accepted",
  },
  "empty-v1": {
    bug: "takes an empty v1 for a match",
    plant: { digestAccepted: orWhen((v1) => v1 === "") },
    caughtBy: "signature.empty-v1",
    cause: "forgery_accepted",
  },
  "any-scheme": {
    bug: "takes any key that is not t for the digest",
    plant: { takeApart: (value, state) => CORRECT.takeApart(value.replaceAll(/(^|,)v0=/g, "$1v1="), state) },
    caughtBy: "signature.other-scheme",
    cause: "forgery_accepted",
  },
  "never-compares": {
    bug: "checks the form of the header, but not the digest",
    plant: { digestAccepted: (v1) => /^[0-9a-f]{64}$/.test(v1) },
    caughtBy: "signature.wrong-secret",
    cause: "forgery_accepted",
  },
  "empty-secret": {
    bug: "tries an unset second secret as an empty key",
    plant: { keys: (secret) => [secret, ""] },
    caughtBy: "signature.empty-secret",
    cause: "forgery_accepted",
  },
  "remembers-headers": {
    bug: "remembers for which headers the digest was right, whatever the body",
    plant: {
      verdict: (isVerified, [value = ""], state) => {
        if (isVerified) state.handled.set(value, 1);
        return isVerified || state.handled.has(value);
      },
    },
    caughtBy: "signature.changed-body",
    cause: "forgery_accepted",
  },
  "slack-in-t": {
    bug: "tries the seconds before t as well",
    plant: { signedStrings: (t, body) => [0, 1, 2, 3].map((less) => join(String(Number(t) - less), body)) },
    caughtBy: "signature.changed-t",
    cause: "forgery_accepted",
  },
  "body-only": {
    bug: "accepts an older scheme that signs the body alone",
    plant: { signedStrings: (t, body) => [join(t, body), body] },
    caughtBy: "signature.body-only",
    cause: "forgery_accepted",
  },
  "no-period": {
    bug: "accepts t and body without the period",
    plant: { signedStrings: (t, body) => [join(t, body), Buffer.concat([Buffer.from(t), body])] },
    caughtBy: "signature.no-period",
    cause: "forgery_accepted",
  },
  "last-half": {
    bug: "compares the last half of the digest",
    plant: {
      digestAccepted: (v1, expected) =>
        v1.length === 64 && v1.slice(32) === expected.toString("hex").slice(32),
    },
    caughtBy: "signature.first-digit",
    cause: "forgery_accepted",
  },
  "first-half": {
    bug: "compares the first half of the digest",
    plant: {
      digestAccepted: (v1, expected) =>
        v1.length === 64 && v1.slice(0, 32) === expected.toString("hex").slice(0, 32),
    },
    caughtBy: "signature.last-digit",
    cause: "forgery_accepted",
  },
  "as-long-as-given": {
    bug: "compares as many digits as it is given",
    plant: { digestAccepted: (v1, expected) => v1 !== "" && expected.toString("hex").startsWith(v1) },
    caughtBy: "signature.short-digest",
    cause: "forgery_accepted",
  },
  "as-long-as-expected": {
    bug: "decodes the digest leniently and compares 32 bytes of it",
    plant: {
      digestAccepted: (v1, expected) => {
        const bytes = Buffer.from(v1, "hex").subarray(0, 32);
        return /^[0-9a-f]+$/.test(v1) && bytes.length === 32 && timingSafeEqual(bytes, expected);
      },
    },
    caughtBy: "signature.long-digest",
    cause: "forgery_accepted",
  },
  "nothing-equals-nothing": {
    bug: "compares zero decoded bytes with zero bytes",
    plant: {
      digestAccepted: orWhen(
        (v1) => v1.length === 64 && Buffer.from(v1, "hex").length === 0 && v1.startsWith("z"),
      ),
    },
    caughtBy: "signature.not-hexadecimal",
    cause: "forgery_accepted",
  },
  "dies-on-unequal-length": dies(
    "lets timingSafeEqual throw on a digest of another length",
    "signature.short-digest",
    {
      digestAccepted: (v1, expected, state) => {
        const bytes = Buffer.from(v1, "hex");
        if (v1.length > 1 && v1.length < 64 && /^[0-9a-f]+$/.test(v1)) state.die();
        return v1.length === 64 && bytes.length === 32 && CORRECT.digestAccepted(v1, expected, state);
      },
    },
  ),
  "dies-on-multibyte": dies(
    "compares string lengths, and throws on digests of as many characters but more bytes",
    "signature.multibyte-digest",
    {
      digestAccepted: (v1, expected, state) => {
        if (Buffer.byteLength(v1) !== v1.length) state.die();
        return CORRECT.digestAccepted(v1, expected, state);
      },
    },
  ),
  "dies-on-long-header": dies("overflows on a header of thousands of characters", "signature.long-header", {
    takeApart: (value, state) => {
      if (value.length > 2_000) state.die();
      return CORRECT.takeApart(value, state);
    },
  }),
  "any-case": {
    bug: "folds the digest to lower case first",
    plant: {
      digestAccepted: (v1, expected, state) => CORRECT.digestAccepted(v1.toLowerCase(), expected, state),
    },
    caughtBy: "signature.upper-case",
    cause: "forgery_accepted",
  },
  base64: {
    bug: "accepts the digest in base64 too",
    plant: { digestAccepted: orWhen((v1, expected) => v1 === expected.toString("base64url")) },
    caughtBy: "signature.base64",
    cause: "forgery_accepted",
  },
  "breaks-on-forgeries": {
    bug: "answers 500 to what it does not verify",
    plant: { answer: (response, status) => CORRECT.answer(response, status === 401 ? 500 : status) },
    caughtBy: "signature.refused-cleanly",
    cause: "forgery_not_refused",
  },
  "redirects-forgeries": {
    bug: "sends a stranger to a login page",
    plant: { answer: (response, status) => CORRECT.answer(response, status === 401 ? 302 : status) },
    caughtBy: "signature.refused-cleanly",
    cause: "forgery_not_refused",
  },
  "first-header": {
    bug: "takes the first of two signature headers",
    plant: { chooseHeader: (headers) => headers[0] },
    caughtBy: "signature.two-headers",
    cause: "forgery_accepted",
  },
};
