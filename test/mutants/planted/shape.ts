import type { Mutant } from "../mutants.ts";
import { CORRECT } from "../behaviour.ts";
import { only, unfamiliar } from "./helpers.ts";

/** Bugs in what counts as a valid event. */
export const SHAPE: Record<string, Mutant> = {
  "closed-envelope": unfamiliar(
    "refuses unknown fields of the envelope",
    "evolution.unknown-envelope-field",
    (event) => !("trace_id" in event) || 400,
  ),
  "closed-data": unfamiliar(
    "refuses anything beside data.object",
    "evolution.unknown-data-field",
    ({ data }) => Object.keys(data).length === 1 || 400,
  ),
  "closed-object": unfamiliar(
    "refuses unknown fields of a call",
    "evolution.unknown-object-field",
    ({ data }) => !("sentiment" in data.object) || 400,
  ),
  "known-types": unfamiliar(
    "refuses unknown types",
    "evolution.unknown-type",
    ({ type }) => type !== "call.summarized" || 400,
  ),
  "known-outcomes": unfamiliar(
    "knows three outcomes",
    "evolution.unknown-outcome",
    only("call", "outcome", (value) => ["voicemail", "transferred", "completed"].includes(value)),
  ),
  "known-reasons": unfamiliar(
    "knows one reason",
    "evolution.unknown-reason",
    only("voicemail", "reason", (value) => value === "after_hours"),
  ),
  "known-languages": unfamiliar(
    "knows languages of two letters",
    "evolution.unknown-language",
    only("call", "detected_language", (value) => value.length !== 3),
  ),
  "notes-are-null": unfamiliar(
    "has seen notes as null only",
    "evolution.filled-notes",
    only("voicemail", "notes", (value) => value === "null"),
  ),
  "unread-only": unfamiliar(
    "refuses voicemails that were reviewed",
    "evolution.reviewed-voicemail",
    only("voicemail", "reviewed", (value) => value === "false"),
  ),
  "falsy-is-missing": unfamiliar(
    "takes an empty transcript for a missing one",
    "evolution.empty-call",
    only("call", "transcript", (value) => value !== ""),
  ),
  "url-required": unfamiliar(
    "takes recording_url for a URL",
    "evolution.empty-strings",
    only("call", "recording_url", (value) => URL.canParse(value)),
  ),
  "integers-of-32-bits": {
    bug: "keeps integers in 32 bits",
    plant: {
      acceptable: ({ created, data }) =>
        Math.max(created, Number(data.object["duration_sec"] ?? 0)) < 2 ** 31 || 500,
    },
    caughtBy: "evolution.integer-extremes",
    cause: "server_error",
  },
  "small-body-limit": {
    bug: "reads 50 KB of body at most",
    plant: { maximumBodyBytes: 51_200 },
    caughtBy: "evolution.long-transcript",
    cause: "too_large",
  },
  "default-body-limit": {
    bug: "reads 100 KB of body at most, the default of a well-known parser",
    plant: { maximumBodyBytes: 102_400 },
    caughtBy: "evolution.large-transcript",
    cause: "too_large",
  },
  "lower-case-ids": unfamiliar(
    "knows ids in lower case only",
    "evolution.upper-case-id",
    ({ id }) => id === id.toLowerCase() || 400,
  ),
  "one-version": unfamiliar(
    "refuses another api_version",
    "evolution.other-api-version",
    ({ api_version }) => api_version === "v1" || 400,
  ),
  "transfer-to-is-a-number": unfamiliar(
    "takes a transfer_to that is a string for a phone number",
    "readings.transfer-to-string",
    only("call", "transfer_to", (value) => /^(?:\{|null$|\+\d)/.test(value)),
  ),
  "transfer-to-is-a-string": unfamiliar(
    "takes transfer_to for a string",
    "readings.transfer-to-object",
    only("call", "transfer_to", (value) => !value.startsWith("{")),
  ),
  "transfers-succeed": unfamiliar(
    "takes transfer_succeeded for true or null",
    "readings.transfer-failed",
    only("call", "transfer_succeeded", (value) => value === "true" || value === "null"),
  ),
  "orders-have-items": unfamiliar(
    "requires items of an order",
    "readings.minimal-order",
    ({ data }) => data.object.object !== "order" || "items" in data.object || 400,
  ),
  "orders-have-one-form": unfamiliar(
    "requires the total of an order as a string",
    "readings.rich-order",
    ({ data }) => !("totals" in data.object) || 400,
  ),
  "bookings-have-one-form": unfamiliar(
    "refuses bookings with more than it knows",
    "readings.rich-booking",
    ({ data }) => !("window" in data.object) || 400,
  ),
  "notes-are-strings": unfamiliar(
    "takes notes for a string",
    "evolution.null-notes",
    only("voicemail", "notes", (value) => value !== "null"),
  ),
  "bookings-have-a-start": unfamiliar(
    "requires starts_at of a booking",
    "readings.minimal-booking",
    ({ data }) => data.object.object !== "booking" || "starts_at" in data.object || 400,
  ),
  "known-keys": {
    bug: "refuses unknown keys in the signature header",
    plant: {
      takeApart: (value, state) =>
        /(^|,)(?!t=|v1=|v0=)/.test(value) ? { ts: [], v1s: [] } : CORRECT.takeApart(value, state),
    },
    caughtBy: "readings.extra-signature-keys",
    cause: "signature_refused",
  },
  "looks-calls-up": unfamiliar(
    "looks the call up in the API before it answers",
    "readings.test-event",
    ({ data }) => data.object.id !== "call_test" || 404,
  ),
  "never-ends": {
    bug: "writes the status line and never ends its answer",
    responseTimeoutMs: 5_000,
    meets: "named",
    plant: {
      answer: (response, status) => {
        response.writeHead(status, { "content-length": "2" });
        response.write("{");
      },
    },
    caughtBy: "readings.whole-answer",
    cause: "unfinished",
  },
};
