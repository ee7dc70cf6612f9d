import type { Mutant } from "../mutants.ts";
import { CORRECT } from "../receiver.ts";
import { only } from "./helpers.ts";

/** Bugs in what counts as a valid event. */
export const SHAPE: Record<string, Mutant> = {
  "closed-envelope": {
    bug: "refuses unknown fields of the envelope",
    plant: { acceptable: (event) => !("trace_id" in event) || 400 },
    caughtBy: "evolution.unknown-envelope-field",
    cause: "unfamiliar_refused",
  },
  "closed-data": {
    bug: "refuses anything beside data.object",
    plant: { acceptable: ({ data }) => Object.keys(data).length === 1 || 400 },
    caughtBy: "evolution.unknown-data-field",
    cause: "unfamiliar_refused",
  },
  "closed-object": {
    bug: "refuses unknown fields of a call",
    plant: { acceptable: ({ data }) => !("sentiment" in data.object) || 400 },
    caughtBy: "evolution.unknown-object-field",
    cause: "unfamiliar_refused",
  },
  "known-types": {
    bug: "refuses unknown types",
    plant: { acceptable: ({ type }) => type !== "call.summarized" || 400 },
    caughtBy: "evolution.unknown-type",
    cause: "unfamiliar_refused",
  },
  "known-outcomes": {
    bug: "knows three outcomes",
    plant: {
      acceptable: only("call", "outcome", (value) =>
        ["voicemail", "transferred", "completed"].includes(value),
      ),
    },
    caughtBy: "evolution.unknown-outcome",
    cause: "unfamiliar_refused",
  },
  "known-reasons": {
    bug: "knows one reason",
    plant: { acceptable: only("voicemail", "reason", (value) => value === "after_hours") },
    caughtBy: "evolution.unknown-reason",
    cause: "unfamiliar_refused",
  },
  "known-languages": {
    bug: "knows languages of two letters",
    plant: { acceptable: only("call", "detected_language", (value) => value.length !== 3) },
    caughtBy: "evolution.unknown-language",
    cause: "unfamiliar_refused",
  },
  "notes-are-null": {
    bug: "has seen notes as null only",
    plant: { acceptable: only("voicemail", "notes", (value) => value === "null") },
    caughtBy: "evolution.filled-notes",
    cause: "unfamiliar_refused",
  },
  "unread-only": {
    bug: "refuses voicemails that were reviewed",
    plant: { acceptable: only("voicemail", "reviewed", (value) => value === "false") },
    caughtBy: "evolution.reviewed-voicemail",
    cause: "unfamiliar_refused",
  },
  "falsy-is-missing": {
    bug: "takes an empty transcript for a missing one",
    plant: { acceptable: only("call", "transcript", (value) => value !== "") },
    caughtBy: "evolution.empty-call",
    cause: "unfamiliar_refused",
  },
  "url-required": {
    bug: "takes recording_url for a URL",
    plant: { acceptable: only("call", "recording_url", (value) => URL.canParse(value)) },
    caughtBy: "evolution.empty-strings",
    cause: "unfamiliar_refused",
  },
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
  "lower-case-ids": {
    bug: "knows ids in lower case only",
    plant: { acceptable: ({ id }) => id === id.toLowerCase() || 400 },
    caughtBy: "evolution.upper-case-id",
    cause: "unfamiliar_refused",
  },
  "one-version": {
    bug: "refuses another api_version",
    plant: { acceptable: ({ api_version }) => api_version === "v1" || 400 },
    caughtBy: "evolution.other-api-version",
    cause: "unfamiliar_refused",
  },
  "transfer-to-is-a-number": {
    bug: "takes a transfer_to that is a string for a phone number",
    plant: { acceptable: only("call", "transfer_to", (value) => /^(?:\{|null$|\+\d)/.test(value)) },
    caughtBy: "readings.transfer-to-string",
    cause: "unfamiliar_refused",
  },
  "transfer-to-is-a-string": {
    bug: "takes transfer_to for a string",
    plant: { acceptable: only("call", "transfer_to", (value) => !value.startsWith("{")) },
    caughtBy: "readings.transfer-to-object",
    cause: "unfamiliar_refused",
  },
  "transfers-succeed": {
    bug: "takes transfer_succeeded for true or null",
    plant: {
      acceptable: only("call", "transfer_succeeded", (value) => value === "true" || value === "null"),
    },
    caughtBy: "readings.transfer-failed",
    cause: "unfamiliar_refused",
  },
  "orders-have-items": {
    bug: "requires items of an order",
    plant: { acceptable: ({ data }) => data.object.object !== "order" || "items" in data.object || 400 },
    caughtBy: "readings.minimal-order",
    cause: "unfamiliar_refused",
  },
  "orders-have-one-form": {
    bug: "requires the total of an order as a string",
    plant: { acceptable: ({ data }) => !("totals" in data.object) || 400 },
    caughtBy: "readings.rich-order",
    cause: "unfamiliar_refused",
  },
  "bookings-have-one-form": {
    bug: "refuses bookings with more than it knows",
    plant: { acceptable: ({ data }) => !("window" in data.object) || 400 },
    caughtBy: "readings.rich-booking",
    cause: "unfamiliar_refused",
  },
  "notes-are-strings": {
    bug: "takes notes for a string",
    plant: { acceptable: only("voicemail", "notes", (value) => value !== "null") },
    caughtBy: "evolution.null-notes",
    cause: "unfamiliar_refused",
  },
  "bookings-have-a-start": {
    bug: "requires starts_at of a booking",
    plant: {
      acceptable: ({ data }) => data.object.object !== "booking" || "starts_at" in data.object || 400,
    },
    caughtBy: "readings.minimal-booking",
    cause: "unfamiliar_refused",
  },
  "known-keys": {
    bug: "refuses unknown keys in the signature header",
    plant: {
      takeApart: (value, state) =>
        /(^|,)(?!t=|v1=|v0=)/.test(value) ? { ts: [], v1s: [] } : CORRECT.takeApart(value, state),
    },
    caughtBy: "readings.extra-signature-keys",
    cause: "signature_refused",
  },
  "looks-calls-up": {
    bug: "looks the call up in the API before it answers",
    plant: { acceptable: ({ data }) => data.object.id !== "call_test" || 404 },
    caughtBy: "readings.test-event",
    cause: "unfamiliar_refused",
  },
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
