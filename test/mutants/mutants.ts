import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Aborted, type Behaviour, CORRECT, type State } from "./receiver.ts";

/** A bug, the check that is meant to catch it, and the checks that cannot help seeing it too. */
export type Mutant = {
  bug: string;
  plant: Partial<Behaviour>;
  /** Deliveries in a burst, where fewer would not show it. */
  burst?: number;
  caughtBy: string;
  alsoBy?: string[];
  /** Checks that may see it too, depending on what happens to arrive together. */
  mayAlso?: string[];
  /** The receiver ends, so that nothing can be judged any more; what was found before counts. */
  kills?: true;
};

const header = (request: IncomingMessage, name: string): string => String(request.headers[name] ?? "");
const HOUR_SECONDS = 3_600;

/** Bugs in what is acknowledged, and in how the signature header is read. */
const ACKNOWLEDGEMENT: Record<string, Mutant> = {
  "refuses-transfers": {
    bug: "answers 400 to a type that it has no use for",
    plant: { acceptable: ({ type }) => type !== "call.transferred" || 400 },
    caughtBy: "acknowledgement.call-transferred",
    alsoBy: [
      "duplicates.same-call-two-types",
      "readings.transfer-to-string",
      "readings.transfer-to-object",
      "readings.transfer-succeeded-string",
      "readings.transfer-failed",
      "readings.completed-last",
      "load.burst",
      "effects.each-type",
      "effects.same-call-two-types",
    ],
  },
  "refuses-completions": {
    bug: "answers 400 to completed calls",
    plant: { acceptable: ({ type }) => type !== "call.completed" || 400 },
    caughtBy: "acknowledgement.call-completed",
    mayAlso: ["*"],
  },
  "refuses-voicemails": {
    bug: "answers 400 to voicemails",
    plant: { acceptable: ({ type }) => type !== "voicemail.created" || 400 },
    caughtBy: "acknowledgement.voicemail-created",
    alsoBy: [
      "acknowledgement.after-forgery",
      "acknowledgement.any-order",
      "duplicates.in-sequence",
      "duplicates.hour-between",
      "duplicates.six-attempts-of-several",
      "evolution.unknown-reason",
      "evolution.null-notes",
      "evolution.filled-notes",
      "evolution.reviewed-voicemail",
      "wire.segmented",
      "wire.lives-on",
      "readings.distinct-ids",
      "load.burst",
      "load.among-forgeries",
      "effects.each-type",
      "effects.distinct-ids",
      "effects.prompt",
    ],
  },
  "refuses-orders": {
    bug: "answers 400 to orders",
    plant: { acceptable: ({ type }) => type !== "order.created" || 400 },
    caughtBy: "acknowledgement.order-created",
    alsoBy: [
      "acknowledgement.any-order",
      "duplicates.at-once-any",
      "duplicates.six-attempts-of-several",
      "readings.minimal-order",
      "readings.rich-order",
      "readings.reserialized-retry",
      "load.burst",
      "effects.each-type",
      "effects.in-sequence",
      "effects.at-once",
      "effects.after-many-others",
      "effects.lost-answer",
      "effects.reserialized-retry",
      "effects.after-forgery",
    ],
  },
  "refuses-bookings": {
    bug: "answers 400 to bookings",
    plant: { acceptable: ({ type }) => type !== "booking.created" || 400 },
    caughtBy: "acknowledgement.booking-created",
    alsoBy: [
      "duplicates.at-once",
      "readings.minimal-booking",
      "readings.rich-booking",
      "load.burst",
      "effects.each-type",
      "effects.at-once",
      "effects.after-handling",
    ],
  },
  "works-before-answering": {
    bug: "handles transfers before it answers",
    plant: { beforeAnswer: ({ type }) => (type === "call.transferred" ? sleep(3_300) : undefined) },
    caughtBy: "acknowledgement.prompt",
  },
  "ages-by-created": {
    bug: "judges the age of a delivery by the event's created",
    plant: { acceptable: ({ created }, state) => created > state.now() / 1_000 - 6 * HOUR_SECONDS || 400 },
    caughtBy: "acknowledgement.last-attempt",
  },
  "refuses-after-forgery": {
    bug: "remembers ids before it verifies, and answers 409 to the genuine event",
    plant: {
      onUnverified: (body, state) =>
        void state.handled.set(`seen ${idOf(body)}`, (state.handled.get(`seen ${idOf(body)}`) ?? 0) + 1),
      acceptable: ({ id }, state) => state.seen.has(id) || (state.handled.get(`seen ${id}`) ?? 0) < 2 || 409,
    },
    caughtBy: "acknowledgement.after-forgery",
    alsoBy: ["effects.after-forgery"],
  },
  "drops-after-forgery": {
    bug: "remembers ids before it verifies, and drops the genuine event as a duplicate",
    plant: {
      onUnverified: (body, state) =>
        void state.handled.set(`seen ${idOf(body)}`, (state.handled.get(`seen ${idOf(body)}`) ?? 0) + 1),
      handlings: ({ id }, state) => ((state.handled.get(`seen ${id}`) ?? 0) > 1 ? 0 : 1),
    },
    caughtBy: "effects.after-forgery",
    alsoBy: ["effects.ledger"],
  },
  "newest-only": {
    bug: "refuses events older than the newest that it has seen",
    plant: {
      acceptable: ({ created, type }, state) => {
        if (type === "voicemail.created") state.newestCreated = Math.max(state.newestCreated, created);
        return type !== "order.created" || created > state.newestCreated - HOUR_SECONDS / 2 || 409;
      },
    },
    caughtBy: "acknowledgement.any-order",
  },
  "one-organization": {
    bug: "refuses organizations that it does not know",
    plant: { acceptable: ({ org_id }) => org_id !== "org_0000000000000001" || 403 },
    caughtBy: "acknowledgement.other-organization",
  },
  "header-name-as-written": {
    bug: "looks for the header name letter by letter",
    plant: {
      signatureHeaders: ({ rawHeaders }) =>
        rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === "X-Service-Signature"),
    },
    caughtBy: "signature.header-name-case",
  },
  "by-position": {
    bug: "expects t first and v1 second",
    plant: {
      takeApart: (value, state) =>
        value.startsWith("t=") ? CORRECT.takeApart(value, state) : { ts: [], v1s: [] },
    },
    caughtBy: "signature.key-order",
  },
  "first-v1": {
    bug: "looks at the first v1 only",
    plant: { chooseV1: (v1s) => v1s.slice(0, 1) },
    caughtBy: "signature.rotation",
  },
};

/** Bugs in how t is held against the clock. */
const TIME: Record<string, Mutant> = {
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

/** Bugs in how the digest is made and compared. */
const DIGEST: Record<string, Mutant> = {
  "no-header-no-check": {
    bug: "verifies only when there is a header",
    plant: { verdict: (isVerified, headers) => isVerified || headers.length === 0 },
    caughtBy: "signature.missing-header",
    alsoBy: ["effects.forged"],
  },
  "empty-header": {
    bug: "takes an empty header for a switched-off check",
    plant: { verdict: (isVerified, headers) => isVerified || headers[0] === "" },
    caughtBy: "signature.empty-header",
  },
  "t-defaults-to-now": {
    bug: "fills in the current time for a missing t",
    plant: {
      chooseT: ([t = ""], nowSeconds) => ({ aged: t || String(nowSeconds), signed: t || String(nowSeconds) }),
    },
    caughtBy: "signature.no-t",
  },
  "empty-t": {
    bug: "skips the clock when t is empty",
    plant: { ageAccepted: (t, nowMs) => t === "" || CORRECT.ageAccepted(t, nowMs) },
    caughtBy: "signature.empty-t",
  },
  "no-v1-no-check": {
    bug: "compares only when there is a v1",
    plant: {
      chooseV1: (v1s) => (v1s.length === 0 ? ["none"] : v1s),
      digestAccepted: orWhen((v1) => v1 === "none"),
    },
    caughtBy: "signature.no-v1",
    alsoBy: ["signature.other-scheme", "signature.long-header"],
  },
  "empty-v1": {
    bug: "takes an empty v1 for a match",
    plant: { digestAccepted: orWhen((v1) => v1 === "") },
    caughtBy: "signature.empty-v1",
  },
  "any-scheme": {
    bug: "takes any key that is not t for the digest",
    plant: { takeApart: (value, state) => CORRECT.takeApart(value.replaceAll(/(^|,)v0=/g, "$1v1="), state) },
    caughtBy: "signature.other-scheme",
  },
  "never-compares": {
    bug: "checks the form of the header, but not the digest",
    plant: { digestAccepted: (v1) => /^[0-9a-f]{64}$/.test(v1) },
    caughtBy: "signature.wrong-secret",
    alsoBy: [
      "acknowledgement.after-forgery",
      "signature.empty-secret",
      "signature.changed-body",
      "signature.changed-t",
      "signature.body-only",
      "signature.no-period",
      "signature.first-digit",
      "signature.last-digit",
      "signature.not-hexadecimal",
      "signature.long-header",
      "raw-bytes.reformatted",
      "raw-bytes.re-escaped",
      "raw-bytes.newline-removed",
      "raw-bytes.newline-added",
      "raw-bytes.invalid-bytes",
      "raw-bytes.replacement-character",
      "load.among-forgeries",
      "effects.forged",
    ],
  },
  "empty-secret": {
    bug: "tries an unset second secret as an empty key",
    plant: { keys: (secret) => [secret, ""] },
    caughtBy: "signature.empty-secret",
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
  },
  "slack-in-t": {
    bug: "tries the seconds before t as well",
    plant: { signedStrings: (t, body) => [0, 1, 2, 3].map((less) => join(String(Number(t) - less), body)) },
    caughtBy: "signature.changed-t",
  },
  "body-only": {
    bug: "accepts an older scheme that signs the body alone",
    plant: { signedStrings: (t, body) => [join(t, body), body] },
    caughtBy: "signature.body-only",
  },
  "no-period": {
    bug: "accepts t and body without the period",
    plant: { signedStrings: (t, body) => [join(t, body), Buffer.concat([Buffer.from(t), body])] },
    caughtBy: "signature.no-period",
  },
  "last-half": {
    bug: "compares the last half of the digest",
    plant: {
      digestAccepted: (v1, expected) =>
        v1.length === 64 && v1.slice(32) === expected.toString("hex").slice(32),
    },
    caughtBy: "signature.first-digit",
  },
  "first-half": {
    bug: "compares the first half of the digest",
    plant: {
      digestAccepted: (v1, expected) =>
        v1.length === 64 && v1.slice(0, 32) === expected.toString("hex").slice(0, 32),
    },
    caughtBy: "signature.last-digit",
  },
  "as-long-as-given": {
    bug: "compares as many digits as it is given",
    plant: { digestAccepted: (v1, expected) => v1 !== "" && expected.toString("hex").startsWith(v1) },
    caughtBy: "signature.short-digest",
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
  },
  "nothing-equals-nothing": {
    bug: "compares zero decoded bytes with zero bytes",
    plant: {
      digestAccepted: orWhen(
        (v1) => v1.length === 64 && Buffer.from(v1, "hex").length === 0 && v1.startsWith("z"),
      ),
    },
    caughtBy: "signature.not-hexadecimal",
  },
  "dies-on-unequal-length": {
    bug: "lets timingSafeEqual throw on a digest of another length",
    plant: {
      digestAccepted: (v1, expected, state) => {
        const bytes = Buffer.from(v1, "hex");
        if (v1.length > 1 && v1.length < 64 && /^[0-9a-f]+$/.test(v1)) state.die();
        return v1.length === 64 && bytes.length === 32 && CORRECT.digestAccepted(v1, expected, state);
      },
    },
    caughtBy: "signature.short-digest",
    kills: true,
  },
  "dies-on-multibyte": {
    bug: "compares string lengths, and throws on digests of as many characters but more bytes",
    plant: {
      digestAccepted: (v1, expected, state) => {
        if (Buffer.byteLength(v1) !== v1.length) state.die();
        return CORRECT.digestAccepted(v1, expected, state);
      },
    },
    caughtBy: "signature.multibyte-digest",
    kills: true,
  },
  "dies-on-long-header": {
    bug: "overflows on a header of thousands of characters",
    plant: {
      takeApart: (value, state) => {
        if (value.length > 2_000) state.die();
        return CORRECT.takeApart(value, state);
      },
    },
    caughtBy: "signature.long-header",
    kills: true,
  },
  "any-case": {
    bug: "folds the digest to lower case first",
    plant: {
      digestAccepted: (v1, expected, state) => CORRECT.digestAccepted(v1.toLowerCase(), expected, state),
    },
    caughtBy: "signature.upper-case",
  },
  base64: {
    bug: "accepts the digest in base64 too",
    plant: { digestAccepted: orWhen((v1, expected) => v1 === expected.toString("base64url")) },
    caughtBy: "signature.base64",
  },
  "first-header": {
    bug: "takes the first of two signature headers",
    plant: { chooseHeader: (headers) => headers[0] },
    caughtBy: "signature.two-headers",
  },
};

/** Bugs in what is verified, and in how the body is read. */
const BYTES: Record<string, Mutant> = {
  reserializes: {
    bug: "verifies over JSON that it wrote again",
    plant: { signedStrings: (t, body) => [join(t, Buffer.from(rewritten(body)))] },
    caughtBy: "raw-bytes.reformatted",
    alsoBy: [
      "raw-bytes.pretty-printed",
      "raw-bytes.crlf",
      "raw-bytes.unicode-escapes",
      "raw-bytes.escaped-slashes",
      "raw-bytes.emoji",
      "raw-bytes.numbers",
      "raw-bytes.big-numbers",
      "raw-bytes.trailing-newline",
      "raw-bytes.leading-space",
      "raw-bytes.repeated-key",
      "raw-bytes.re-escaped",
      "raw-bytes.newline-added",
      "raw-bytes.replacement-character",
      "readings.reserialized-retry",
    ],
  },
  "documented-order": {
    bug: "puts the keys into the documented order before it verifies",
    plant: { signedStrings: (t, body) => [join(t, isReversed(body) ? reversed(body) : body)] },
    caughtBy: "raw-bytes.key-order",
  },
  "reserializes-too": {
    bug: "falls back on JSON that it wrote again",
    plant: { signedStrings: (t, body) => [join(t, body), join(t, Buffer.from(rewritten(body)))] },
    caughtBy: "raw-bytes.reformatted",
    alsoBy: ["raw-bytes.re-escaped", "raw-bytes.newline-added", "raw-bytes.replacement-character"],
  },
  "decodes-first": {
    bug: "verifies over decoded text, in which invalid bytes are all one",
    plant: { signedStrings: (t, body) => [`${t}.${body.toString("utf8")}`] },
    caughtBy: "raw-bytes.replacement-character",
  },
  "decodes-leniently": {
    bug: "verifies over decoded text, with invalid bytes dropped on both sides",
    plant: { signedStrings: (t, body) => [join(t, body), ...swapped(body).map((other) => join(t, other))] },
    caughtBy: "raw-bytes.invalid-bytes",
  },
  "drops-the-mark": {
    bug: "verifies over text decoded without its byte order mark",
    plant: {
      signedStrings: (t, body) => [join(t, body.subarray(body.indexOf("\ufeff") === 0 ? 3 : 0))],
      parse: (body, state) => CORRECT.parse(body.subarray(body.indexOf("\ufeff") === 0 ? 3 : 0), state),
    },
    caughtBy: "raw-bytes.byte-order-mark",
  },
  trims: {
    bug: "trims the body before it verifies",
    plant: {
      signedStrings: (t, body) =>
        [`${t}.${body.toString("latin1").trim()}`].map((text) => Buffer.from(text, "latin1")),
    },
    caughtBy: "raw-bytes.trailing-newline",
    alsoBy: ["raw-bytes.leading-space", "raw-bytes.newline-added"],
  },
  "adds-newline": {
    bug: "tries the body with a line break behind it as well",
    plant: { signedStrings: (t, body) => [join(t, body), Buffer.concat([join(t, body), Buffer.from("\n")])] },
    caughtBy: "raw-bytes.newline-removed",
  },
  "unix-line-ends": {
    bug: "turns CRLF into LF before it verifies",
    plant: {
      signedStrings: (t, body) => [
        join(t, Buffer.from(body.toString("latin1").replaceAll("\r\n", "\n"), "latin1")),
      ],
    },
    caughtBy: "raw-bytes.crlf",
    alsoBy: ["raw-bytes.leading-space"],
  },
  "wrong-charset": {
    bug: "takes the body for Latin-1",
    plant: { signedStrings: (t, body) => [`${t}.${body.toString("latin1")}`] },
    caughtBy: "raw-bytes.non-ascii",
    alsoBy: [
      "raw-bytes.emoji",
      "raw-bytes.line-separators",
      "evolution.unknown-language",
      "wire.split-multibyte",
    ],
  },
  "string-concatenation": {
    bug: "adds up chunks as strings, which breaks characters that lie across two",
    plant: {
      readBody: async (request, state) => {
        let text = "";
        request.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
        const raw = await CORRECT.readBody(request, state);
        return text.includes("\ufffd") && !raw.includes("\ufffd") && raw.includes("東京")
          ? Buffer.from(text)
          : raw;
      },
    },
    caughtBy: "wire.split-multibyte",
  },
  "no-large-numbers": {
    bug: "refuses numbers that a double cannot hold",
    plant: {
      parse: (body, state) =>
        /9007199254740993/.test(body.toString()) ? undefined : CORRECT.parse(body, state),
    },
    caughtBy: "raw-bytes.big-numbers",
  },
  "prototype-pollution-guard": {
    bug: "refuses bodies with a __proto__ key, as some frameworks do by default",
    plant: {
      parse: (body, state) => (body.includes('"__proto__"') ? undefined : CORRECT.parse(body, state)),
    },
    caughtBy: "raw-bytes.prototype-key",
  },
  "no-nul": {
    bug: "fails on U+0000, as a text column of PostgreSQL does",
    plant: { acceptable: ({ data }) => !JSON.stringify(data).includes(String.raw`\u0000`) || 500 },
    caughtBy: "raw-bytes.line-separators",
  },
};

/** Bugs in what becomes of duplicates and of acknowledged events. */
const DUPLICATES: Record<string, Mutant> = {
  "conflict-on-duplicate": {
    bug: "answers 409 to a duplicate",
    plant: { duplicateStatus: 409 },
    caughtBy: "duplicates.in-sequence",
    alsoBy: [
      "duplicates.at-once",
      "duplicates.after-lost-answer",
      "duplicates.hour-between",
      "duplicates.six-attempts-of-several",
      "wire.half-close",
      "readings.reserialized-retry",
      "load.one-event-storm",
    ],
  },
  "never-de-duplicates": {
    bug: "handles every delivery",
    plant: { remember: () => true },
    caughtBy: "effects.in-sequence",
    alsoBy: [
      "effects.at-once",
      "effects.after-handling",
      "effects.after-many-others",
      "effects.lost-answer",
      "effects.reserialized-retry",
      "effects.ledger",
    ],
  },
  "check-then-insert": {
    bug: "looks the id up first and inserts it later",
    plant: {
      remember: async (key, state) => {
        if (state.seen.has(key)) return false;
        await lull(state);
        state.seen.set(key, state.requests);
        return true;
      },
    },
    caughtBy: "effects.at-once",
    alsoBy: ["effects.lost-answer", "effects.ledger"],
  },
  "busy-on-duplicate": {
    bug: "answers 409 while another copy of the event is under way",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        if (state.open.has(id)) return 409;
        state.open.set(id, 1);
        await lull(state);
        state.open.delete(id);
        return undefined;
      },
    },
    caughtBy: "duplicates.at-once",
    alsoBy: ["load.one-event-storm"],
    mayAlso: ["duplicates.after-lost-answer", "wire.half-close"],
  },
  "shut-each-other-out": {
    bug: "answers 409 to every copy of an event of which several are under way",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        state.open.set(id, (state.open.get(id) ?? 0) + 1);
        await lull(state);
        return (state.open.get(id) ?? 0) > 1 && !state.seen.has(id) ? 409 : undefined;
      },
      afterHandled: ({ id }, state) => void state.open.delete(id),
    },
    caughtBy: "duplicates.at-once-any",
    alsoBy: ["duplicates.at-once", "load.one-event-storm"],
    mayAlso: ["duplicates.after-lost-answer", "wire.half-close", "effects.at-once", "effects.lost-answer"],
  },
  "remembers-the-latest": {
    bug: "remembers the latest ids only",
    plant: {
      remember: (key, state) => {
        const known = (state.seen.get(key) ?? Number.NEGATIVE_INFINITY) > state.requests - 40;
        state.seen.set(key, state.requests);
        return !known;
      },
    },
    caughtBy: "effects.after-many-others",
    mayAlso: ["effects.ledger"],
  },
  "hash-of-the-body": {
    bug: "takes events for the same when their bodies are",
    plant: { dedupeKey: (_, body) => createHash("sha256").update(body).digest("hex") },
    caughtBy: "effects.reserialized-retry",
    alsoBy: ["effects.ledger"],
  },
  "id-of-the-object": {
    bug: "takes events for the same when their objects are",
    plant: {
      dedupeKey: ({ id, type, data }) =>
        `${type} ${typeof data.object.id === "string" ? data.object.id : id}`,
    },
    caughtBy: "effects.distinct-ids",
    alsoBy: ["effects.ledger"],
  },
  "id-of-the-call": {
    bug: "takes two events of one call for the same",
    plant: { dedupeKey: ({ id, type, data }) => (type.startsWith("call.") ? String(data.object.id) : id) },
    caughtBy: "effects.same-call-two-types",
    alsoBy: ["effects.ledger"],
  },
  "conflict-on-object": {
    bug: "answers 409 to a second event about a voicemail",
    plant: {
      acceptable: ({ id, type, data }, state) => {
        if (type !== "voicemail.created") return true;
        const object = String(data.object.id);
        const first = state.open.get(object) === undefined || state.seen.has(id);
        state.open.set(object, 1);
        return first || 409;
      },
    },
    caughtBy: "readings.distinct-ids",
    alsoBy: ["effects.distinct-ids"],
  },
  "forgets-when-done": {
    bug: "deletes a booking, and its id, once it is handled",
    plant: {
      afterHandled: ({ id, type }, state) => {
        if (type === "booking.created") state.seen.delete(id);
      },
    },
    caughtBy: "effects.after-handling",
    mayAlso: ["effects.at-once", "effects.ledger"],
  },
  "never-handles-bookings": {
    bug: "acknowledges bookings and forgets them",
    plant: { handlings: ({ type }) => (type === "booking.created" ? 0 : 1) },
    caughtBy: "effects.each-type",
    alsoBy: ["effects.at-once", "effects.after-handling", "effects.burst", "effects.ledger"],
  },
  "handles-late": {
    bug: "starts on voicemails only at the next poll",
    plant: { handledAfterMs: ({ type }) => (type === "voicemail.created" ? 3_600 : 0) },
    caughtBy: "effects.prompt",
  },
  "handles-before-verifying": {
    bug: "handles what is in the body, and verifies for the answer only",
    plant: {
      onUnverified: (body, state) => {
        const id = idOf(body);
        if (id === "" || state.seen.has(id)) return;
        state.seen.set(id, state.requests);
        state.handled.set(id, 1);
      },
    },
    caughtBy: "effects.forged",
    alsoBy: ["effects.ledger"],
  },
  "handles-half": {
    bug: "handles what arrived of a body that was cut",
    plant: {
      onAborted: (partial, state) => {
        const id = idOf(partial);
        if (id !== "" && !state.seen.has(id)) state.handled.set(id, 1);
      },
    },
    caughtBy: "effects.cut-short",
    alsoBy: ["effects.ledger"],
  },
  "bounded-queue": {
    bug: "acknowledges a burst, but drops what its queue cannot hold",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        if (!state.seen.has(id)) state.open.set(id, 1);
        await lull(state);
      },
      handlings: (_, state) => (state.open.size > 25 ? 0 : 1),
      afterHandled: ({ id }, state) => void state.open.delete(id),
    },
    burst: 40,
    caughtBy: "effects.burst",
    mayAlso: ["effects.ledger"],
  },
};

/** Bugs in what is taken for a valid event. */
const SHAPE: Record<string, Mutant> = {
  "closed-envelope": {
    bug: "refuses unknown fields of the envelope",
    plant: { acceptable: (event) => !("trace_id" in event) || 400 },
    caughtBy: "evolution.unknown-envelope-field",
  },
  "closed-data": {
    bug: "refuses anything beside data.object",
    plant: { acceptable: ({ data }) => Object.keys(data).length === 1 || 400 },
    caughtBy: "evolution.unknown-data-field",
  },
  "closed-object": {
    bug: "refuses unknown fields of a call",
    plant: { acceptable: ({ data }) => !("sentiment" in data.object) || 400 },
    caughtBy: "evolution.unknown-object-field",
  },
  "known-types": {
    bug: "refuses unknown types",
    plant: { acceptable: ({ type }) => type !== "call.summarized" || 400 },
    caughtBy: "evolution.unknown-type",
  },
  "known-outcomes": {
    bug: "knows three outcomes",
    plant: {
      acceptable: only("call", "outcome", (value) =>
        ["voicemail", "transferred", "completed"].includes(value),
      ),
    },
    caughtBy: "evolution.unknown-outcome",
  },
  "known-reasons": {
    bug: "knows one reason",
    plant: { acceptable: only("voicemail", "reason", (value) => value === "after_hours") },
    caughtBy: "evolution.unknown-reason",
  },
  "known-languages": {
    bug: "knows languages of two letters",
    plant: { acceptable: only("call", "detected_language", (value) => value.length !== 3) },
    caughtBy: "evolution.unknown-language",
  },
  "notes-are-null": {
    bug: "has seen notes as null only",
    plant: { acceptable: only("voicemail", "notes", (value) => value === "null") },
    caughtBy: "evolution.filled-notes",
  },
  "unread-only": {
    bug: "refuses voicemails that were reviewed",
    plant: { acceptable: only("voicemail", "reviewed", (value) => value === "false") },
    caughtBy: "evolution.reviewed-voicemail",
  },
  "falsy-is-missing": {
    bug: "takes an empty transcript for a missing one",
    plant: { acceptable: only("call", "transcript", (value) => value !== "") },
    caughtBy: "evolution.empty-strings",
  },
  "default-body-limit": {
    bug: "reads 100 KB of body at most, the default of a well-known parser",
    plant: { maximumBodyBytes: 102_400 },
    caughtBy: "evolution.large-transcript",
    alsoBy: ["evolution.very-large-transcript"],
  },
  "lower-case-ids": {
    bug: "knows ids in lower case only",
    plant: { acceptable: ({ id }) => id === id.toLowerCase() || 400 },
    caughtBy: "evolution.upper-case-id",
  },
  "one-version": {
    bug: "refuses another api_version",
    plant: { acceptable: ({ api_version }) => api_version === "v1" || 400 },
    caughtBy: "evolution.other-api-version",
  },
  "transfer-to-is-a-string": {
    bug: "takes transfer_to for a string",
    plant: { acceptable: only("call", "transfer_to", (value) => !value.startsWith("{")) },
    caughtBy: "readings.transfer-to-object",
  },
  "transfers-succeed": {
    bug: "takes transfer_succeeded for true or null",
    plant: {
      acceptable: only("call", "transfer_succeeded", (value) => value === "true" || value === "null"),
    },
    caughtBy: "readings.transfer-failed",
    alsoBy: ["readings.transfer-succeeded-string"],
  },
  "orders-have-items": {
    bug: "requires items of an order",
    plant: { acceptable: ({ data }) => data.object.object !== "order" || "items" in data.object || 400 },
    caughtBy: "readings.minimal-order",
  },
  "orders-have-one-form": {
    bug: "requires the total of an order as a string",
    plant: { acceptable: ({ data }) => !("totals" in data.object) || 400 },
    caughtBy: "readings.rich-order",
  },
  "bookings-have-one-form": {
    bug: "refuses bookings with more than it knows",
    plant: { acceptable: ({ data }) => !("window" in data.object) || 400 },
    caughtBy: "readings.rich-booking",
  },
  "notes-are-strings": {
    bug: "takes notes for a string",
    plant: { acceptable: only("voicemail", "notes", (value) => value !== "null") },
    caughtBy: "evolution.null-notes",
    alsoBy: [
      "acknowledgement.voicemail-created",
      "acknowledgement.after-forgery",
      "acknowledgement.any-order",
      "duplicates.in-sequence",
      "duplicates.hour-between",
      "duplicates.six-attempts-of-several",
      "evolution.unknown-reason",
      "evolution.reviewed-voicemail",
      "wire.segmented",
      "wire.lives-on",
      "readings.distinct-ids",
      "load.burst",
      "load.among-forgeries",
      "effects.each-type",
      "effects.distinct-ids",
      "effects.prompt",
    ],
  },
  "bookings-have-a-start": {
    bug: "requires starts_at of a booking",
    plant: {
      acceptable: ({ data }) => data.object.object !== "booking" || "starts_at" in data.object || 400,
    },
    caughtBy: "readings.minimal-booking",
  },
  "known-keys": {
    bug: "refuses unknown keys in the signature header",
    plant: {
      takeApart: (value, state) =>
        /(^|,)(?!t=|v1=|v0=)/.test(value) ? { ts: [], v1s: [] } : CORRECT.takeApart(value, state),
    },
    caughtBy: "readings.extra-signature-keys",
  },
  "looks-calls-up": {
    bug: "looks the call up in the API before it answers",
    plant: { acceptable: ({ data }) => data.object.id !== "call_test" || 404 },
    caughtBy: "readings.test-event",
  },
  "never-ends": {
    bug: "writes the status line and never ends its answer",
    plant: {
      answer: (response, status) => {
        response.writeHead(status, { "content-length": "2" });
        response.write("{");
      },
    },
    caughtBy: "readings.whole-answer",
    alsoBy: ["wire.same-connection"],
  },
};

/** Bugs in how HTTP is spoken, and in what brings the process down. */
const WIRE: Record<string, Mutant> = {
  "json-parser-first": {
    bug: "has its body parsed only when the Content-Type says JSON",
    plant: {
      precheck: (request) => (header(request, "content-type").includes("application/json") ? undefined : 400),
    },
    caughtBy: "wire.no-content-type",
    alsoBy: ["wire.other-content-type"],
  },
  "exact-content-type": {
    bug: "compares the Content-Type as a whole",
    plant: {
      precheck: (request) =>
        header(request, "content-type").startsWith("application/json;") ? 415 : undefined,
    },
    caughtBy: "wire.charset",
  },
  "needs-a-length": {
    bug: "answers 411 to a chunked body",
    plant: { precheck: (request) => (header(request, "transfer-encoding") === "" ? undefined : 411) },
    caughtBy: "wire.chunked",
  },
  "modern-only": {
    bug: "refuses HTTP/1.0",
    plant: { precheck: (request) => (request.httpVersion === "1.0" ? 505 : undefined) },
    caughtBy: "wire.http-1.0",
  },
  "few-headers": {
    bug: "refuses more than thirty headers",
    plant: { precheck: (request) => (request.rawHeaders.length > 60 ? 431 : undefined) },
    caughtBy: "wire.many-headers",
  },
  "no-expectations": {
    bug: "answers 417 to Expect: 100-continue",
    plant: { precheck: (request) => (header(request, "expect") === "" ? undefined : 417) },
    caughtBy: "wire.expect-continue",
  },
  "first-read": {
    bug: "takes the first read of the socket for the whole body",
    plant: {
      readBody: async (request, state) => {
        let reads = 0;
        request.on("data", () => (reads += 1));
        const body = await CORRECT.readBody(request, state);
        return reads > 1 && body.length < 5_000 && !body.includes("東京") ? body.subarray(0, 40) : body;
      },
    },
    caughtBy: "wire.segmented",
    alsoBy: ["wire.chunked", "wire.slow-body"],
  },
  impatient: {
    bug: "gives a body half a second",
    plant: {
      readBody: async (request, state) => {
        const body = await Promise.race([CORRECT.readBody(request, state), sleep(600)]);
        if (body === undefined) throw new Aborted(Buffer.alloc(0));
        return body;
      },
    },
    caughtBy: "wire.slow-body",
    mayAlso: ["wire.segmented", "wire.split-multibyte", "wire.expect-continue"],
  },
  "one-at-a-time": {
    bug: "finishes one request before it reads the next",
    plant: {
      readBody: async (request, state) => {
        const before = state.handled.get("stuck") ?? 0;
        state.handled.set("stuck", before + 1);
        const body = await CORRECT.readBody(request, state).finally(() =>
          state.handled.set("stuck", (state.handled.get("stuck") ?? 1) - 1),
        );
        if (before === 0) return body;
        while ((state.handled.get("stuck") ?? 0) > 4) await sleep(20);
        return body;
      },
    },
    caughtBy: "wire.stalled-clients",
  },
  "dies-on-bad-json": {
    bug: "lets JSON.parse throw out of an event handler",
    plant: {
      parse: (body, state) => {
        const value = CORRECT.parse(body, state);
        if (value === undefined) state.die();
        return value;
      },
    },
    caughtBy: "wire.no-json",
    kills: true,
  },
  "dies-on-no-object": {
    bug: "reads data.object of what has no data",
    plant: {
      parse: (body, state) => {
        const value = CORRECT.parse(body, state);
        if (value === null) state.die();
        return value;
      },
    },
    caughtBy: "wire.no-object",
    kills: true,
  },
  "dies-on-deep-nesting": {
    bug: "walks the body recursively",
    plant: {
      parse: (body, state) => {
        if (body.length > 100_000 && body[1_000] === 0x5b) state.die();
        return CORRECT.parse(body, state);
      },
    },
    caughtBy: "wire.deep-nesting",
    kills: true,
  },
  "dies-on-invalid-utf8": {
    bug: "decodes strictly, and does not catch",
    plant: {
      parse: (body, state) => {
        if (body[2] === 0xff) state.die();
        return CORRECT.parse(body, state);
      },
    },
    caughtBy: "wire.invalid-utf8",
    kills: true,
  },
  "dies-on-reset": {
    bug: "does not listen for the error of a request that was cut",
    plant: {
      onAborted: (partial, state) => (partial.length > 100 && state.requests > 150 ? state.die() : undefined),
    },
    caughtBy: "wire.reset-mid-body",
    kills: true,
  },
  "dies-on-truncation": {
    bug: "parses what arrived although the client ended early",
    plant: {
      onClientError: ({ code }, state) => (code === "HPE_INVALID_EOF_STATE" ? state.die() : undefined),
    },
    caughtBy: "wire.body-ends-early",
    kills: true,
  },
  "dies-on-reset-head": {
    bug: "does not listen for the error of a connection that was cut",
    plant: {
      onClientError: ({ code }, state, bytesRead) =>
        code === "ECONNRESET" && bytesRead < 100 ? state.die() : undefined,
    },
    caughtBy: "wire.reset-mid-head",
    kills: true,
  },
  "dies-on-rubbish": {
    bug: "throws on what is not HTTP",
    plant: {
      onClientError: ({ code = "" }, state) =>
        /^HPE_INVALID_(METHOD|CONST|VERSION|URL)/.test(code) ? state.die() : undefined,
    },
    caughtBy: "wire.not-http",
    kills: true,
  },
  "dies-on-large-head": {
    bug: "throws on headers beyond its limit",
    plant: { onClientError: ({ code }, state) => (code === "HPE_HEADER_OVERFLOW" ? state.die() : undefined) },
    caughtBy: "wire.large-head",
    kills: true,
  },
  "dies-on-large-body": {
    bug: "runs out of memory on what it has not verified yet",
    plant: {
      onUnverified: (body, state) => {
        if (body.length > 1_500_000) state.die();
      },
    },
    caughtBy: "wire.large-forgery",
    kills: true,
  },
  "dies-on-other-methods": {
    bug: "expects a body of every request",
    plant: {
      precheck: ({ method }, state) => {
        if (method === "OPTIONS") state.die();
        return undefined;
      },
    },
    caughtBy: "wire.odd-requests",
    kills: true,
  },
  "too-busy": {
    bug: "answers 429 to more than 25 events at once",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        if (state.open.size >= 25) return 429;
        state.open.set(id, 1);
        await lull(state);
        state.open.delete(id);
        return undefined;
      },
    },
    burst: 40,
    caughtBy: "load.burst",
    alsoBy: ["load.prompt"],
  },
};

/** Planted bugs about who signed what and when. */
export const SIGNATURE_MUTANTS: Record<string, Mutant> = { ...ACKNOWLEDGEMENT, ...TIME, ...DIGEST };

/** Planted bugs about bytes, copies, shapes and sockets. */
export const DELIVERY_MUTANTS: Record<string, Mutant> = { ...BYTES, ...DUPLICATES, ...SHAPE, ...WIRE };

/** Waits until no further request comes, so that what was sent at once is open at once, however slow the machine. */
async function lull(state: State): Promise<void> {
  for (let before = -1; before !== state.requests;) {
    before = state.requests;
    await sleep(40);
  }
}

function within(accepted: (ageSeconds: number) => boolean): Behaviour["ageAccepted"] {
  return (t, nowMs) => /^-?\d{1,16}$/.test(t) && accepted(Math.floor(nowMs / 1_000) - Number(t));
}

function orWhen(lenient: (v1: string, expected: Buffer) => boolean): Behaviour["digestAccepted"] {
  return (v1, expected, state) => lenient(v1, expected) || CORRECT.digestAccepted(v1, expected, state);
}

/** Refuses objects of `kind` whose field holds another value than accepted. */
function only(kind: string, field: string, accepted: (value: string) => boolean): Behaviour["acceptable"] {
  return ({ data }) => {
    const { object } = data;
    if (object.object !== kind || !(field in object)) return true;
    const value = object[field];
    return (
      accepted(typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)) || 400
    );
  };
}

function join(t: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${t}.`), body]);
}

function rewritten(body: Buffer): string {
  try {
    return JSON.stringify(JSON.parse(body.toString("utf8")));
  } catch {
    return "";
  }
}

/** The body with each 0xfe put back to 0xff, as a decoder does that takes both for the same. */
function swapped(body: Buffer): Buffer[] {
  return body.includes(0xfe) ? [Buffer.from(body.map((byte) => (byte === 0xfe ? 0xff : byte)))] : [];
}

/** Whether the envelope's keys come in another order than the documented one. */
function isReversed(body: Buffer): boolean {
  return body.toString("latin1").startsWith('{"org_id"');
}

function reversed(body: Buffer): Buffer {
  return Buffer.from(
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body.toString("utf8"))).toReversed())),
  );
}

function idOf(body: Buffer): string {
  return /evt_[0-9a-fA-F]{32}/.exec(body.toString("latin1"))?.[0] ?? "";
}
