import { setTimeout as sleep } from "node:timers/promises";
import type { Mutant } from "../mutants.ts";
import { CORRECT } from "../behaviour.ts";
import { idOf, HOUR_SECONDS } from "./helpers.ts";

/** Bugs in what is acknowledged, and in how the signature header is read. */
export const ACKNOWLEDGEMENT: Record<string, Mutant> = {
  "refuses-transfers": refuses("call.transferred"),
  "refuses-completions": refuses("call.completed"),
  "refuses-voicemails": refuses("voicemail.created"),
  "refuses-orders": refuses("order.created"),
  "refuses-bookings": refuses("booking.created"),
  "works-before-answering": {
    bug: "handles transfers before it answers",
    plant: { beforeAnswer: ({ type }) => (type === "call.transferred" ? sleep(8_300) : undefined) },
    groups: ["acknowledgement"],
    caughtBy: "acknowledgement.prompt",
    cause: "slow",
  },
  "ages-by-created": {
    bug: "judges the age of a delivery by the event's created",
    plant: { acceptable: ({ created }, state) => created > state.now() / 1_000 - 6 * HOUR_SECONDS || 400 },
    caughtBy: "acknowledgement.last-attempt",
    cause: "refused",
  },
  "refuses-after-forgery": {
    bug: "remembers ids before it verifies, and answers 409 to the genuine event",
    plant: {
      onUnverified: (body, state) =>
        void state.handled.set(`seen ${idOf(body)}`, (state.handled.get(`seen ${idOf(body)}`) ?? 0) + 1),
      acceptable: ({ id }, state) => state.seen.has(id) || (state.handled.get(`seen ${id}`) ?? 0) < 2 || 409,
    },
    caughtBy: "acknowledgement.after-forgery",
    cause: "duplicate_refused",
  },
  "drops-after-forgery": {
    bug: "remembers ids before it verifies, and drops the genuine event as a duplicate",
    plant: {
      onUnverified: (body, state) =>
        void state.handled.set(`seen ${idOf(body)}`, (state.handled.get(`seen ${idOf(body)}`) ?? 0) + 1),
      handlings: ({ id }, state) => ((state.handled.get(`seen ${id}`) ?? 0) > 1 ? 0 : 1),
    },
    caughtBy: "effects.after-forgery",
    cause: "never_handled",
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
    cause: "duplicate_refused",
  },
  "one-organization": {
    bug: "refuses organizations that it does not know",
    plant: { acceptable: ({ org_id }) => org_id !== "org_0000000000000001" || 403 },
    caughtBy: "acknowledgement.other-organization",
    cause: "signature_refused",
  },
  "header-name-as-written": {
    bug: "looks for the header name letter by letter",
    plant: {
      signatureHeaders: ({ rawHeaders }) =>
        rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === "X-Service-Signature"),
    },
    caughtBy: "signature.header-name-case",
    cause: "signature_refused",
  },
  "by-position": {
    bug: "expects t first and v1 second",
    plant: {
      takeApart: (value, state) =>
        value.startsWith("t=") ? CORRECT.takeApart(value, state) : { ts: [], v1s: [] },
    },
    caughtBy: "signature.key-order",
    cause: "signature_refused",
  },
  "first-v1": {
    bug: "looks at the first v1 only",
    plant: { chooseV1: (v1s) => v1s.slice(0, 1) },
    caughtBy: "signature.rotation",
    cause: "signature_refused",
  },
};

function refuses(type: string): Mutant {
  return {
    bug: `answers 400 to ${type}`,
    plant: { acceptable: (event) => event.type !== type || 400 },
    caughtBy: `acknowledgement.${type.replace(".", "-")}`,
    cause: "refused",
  };
}
