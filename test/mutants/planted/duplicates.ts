import { createHash } from "node:crypto";
import type { Mutant } from "../mutants.ts";
import { idOf, lull, refusesCopies, refusesSecond } from "./helpers.ts";

/** Bugs in the handling of duplicates and of acknowledged events. */
export const DUPLICATES: Record<string, Mutant> = {
  "conflict-on-duplicate": {
    bug: "answers 409 to a duplicate",
    plant: { duplicateStatus: 409 },
    caughtBy: "duplicates.in-sequence",
    cause: "duplicate_refused",
  },
  "never-de-duplicates": {
    bug: "handles every delivery",
    meets: "all",
    plant: { remember: () => true },
    caughtBy: "effects.in-sequence",
    cause: "handled_twice",
  },
  "check-then-insert": {
    bug: "looks the id up first and inserts it later",
    plant: {
      remember: async (key, state) => {
        if (state.seen.has(key)) return false;
        await lull(state, key);
        state.seen.set(key, state.requests);
        return true;
      },
    },
    caughtBy: "effects.at-once",
    cause: "handled_twice",
  },
  "busy-on-duplicate": {
    bug: "answers 409 while another copy of the event is under way",
    plant: { beforeAnswer: refusesCopies(409, lull) },
    caughtBy: "duplicates.at-once",
    cause: "duplicate_refused",
    underWayMs: 10_000,
  },
  "shut-each-other-out": {
    bug: "answers 409 to every copy of an event of which several are under way",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        state.open.set(id, (state.open.get(id) ?? 0) + 1);
        await lull(state, id);
        return (state.open.get(id) ?? 0) > 1 && !state.seen.has(id) ? 409 : undefined;
      },
      afterHandled: ({ id }, state) => void state.open.delete(id),
    },
    caughtBy: "duplicates.at-once-any",
    cause: "duplicate_refused",
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
    cause: "handled_twice",
  },
  "hash-of-the-body": {
    bug: "takes events for the same when their bodies are",
    plant: { dedupeKey: (_, body) => createHash("sha256").update(body).digest("hex") },
    caughtBy: "effects.reserialized-retry",
    cause: "handled_twice",
  },
  "id-of-the-object": {
    bug: "takes events for the same when their objects are",
    plant: {
      dedupeKey: ({ id, type, data }) =>
        `${type} ${typeof data.object.id === "string" ? data.object.id : id}`,
    },
    caughtBy: "effects.distinct-ids",
    cause: "never_handled",
  },
  "id-of-the-call": {
    bug: "takes two events of one call for the same",
    plant: { dedupeKey: ({ id, type, data }) => (type.startsWith("call.") ? String(data.object.id) : id) },
    caughtBy: "effects.same-call-two-types",
    cause: "never_handled",
  },
  "conflict-on-object": {
    bug: "answers 409 to a second event about a voicemail",
    plant: { acceptable: refusesSecond("voicemail.created") },
    caughtBy: "readings.distinct-ids",
    cause: "duplicate_refused",
  },
  "one-event-a-call": {
    bug: "answers 409 to a transfer of a call whose end it knows",
    plant: { acceptable: refusesSecond("call.transferred") },
    caughtBy: "duplicates.same-call-two-types",
    cause: "duplicate_refused",
  },
  "transfer-ends-a-call": {
    bug: "answers 409 to the end of a call that it has transferred",
    plant: { acceptable: refusesSecond("call.completed") },
    caughtBy: "readings.completed-last",
    cause: "duplicate_refused",
  },
  "conflict-on-other-body": {
    bug: "answers 409 to a known id whose keys come in another order",
    plant: {
      acceptable: (event, state) => {
        const text = JSON.stringify(event);
        const first = state.firsts.get(event.id) ?? text;
        state.firsts.set(event.id, first);
        return first === text || 409;
      },
    },
    caughtBy: "readings.reserialized-retry",
    cause: "duplicate_refused",
  },
  "forgets-when-done": {
    bug: "deletes a booking, and its id, once it is handled",
    plant: {
      afterHandled: ({ id, type }, state) => {
        if (type === "booking.created") state.seen.delete(id);
      },
    },
    caughtBy: "effects.after-handling",
    cause: "handled_twice",
  },
  "never-handles-bookings": {
    bug: "acknowledges bookings and forgets them",
    plant: { handlings: ({ type }) => (type === "booking.created" ? 0 : 1) },
    caughtBy: "effects.each-type",
    cause: "never_handled",
  },
  "handles-late": {
    bug: "starts on voicemails only at the next poll",
    plant: { handledAfterMs: ({ type }) => (type === "voicemail.created" ? 12_000 : 0) },
    caughtBy: "effects.prompt",
    meets: "named",
    cause: "handled_late",
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
    cause: "forgery_handled",
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
    cause: "forgery_handled",
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
    cause: "never_handled",
  },
};
