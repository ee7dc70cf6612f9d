import type { EventType } from "../../../shared/events.ts";
import type { Check, Runs } from "../check.ts";
import { accepted } from "../judgement.ts";

/** Whether the receiver keeps up with what the service may send tomorrow. */
export const evolutionRuns: Runs = {
  "evolution.unknown-envelope-field": changed({
    envelope: { trace_id: "tr_1", attempt_hint: { number: 1 } },
  }),
  "evolution.unknown-data-field": changed({ data: { previous_attributes: { outcome: "completed" } } }),
  "evolution.unknown-object-field": {
    ...changed({ object: { sentiment: 0.8, tags: ["vip"], summary: null, nested: { deeper: [[{}]] } } }),
    about: [],
  },
  "evolution.unknown-type": {
    about: ["new types"],
    run: accepted(({ deliver, event, undocumented }) =>
      deliver(undocumented(event("call.completed", {}, { type: "call.summarized" }))),
    ),
  },
  "evolution.unknown-outcome": changed({ object: { outcome: "abandoned" } }),
  "evolution.unknown-reason": changed({ type: "voicemail.created", object: { reason: "line_busy" } }),
  "evolution.unknown-language": changed({
    object: { detected_language: "yue", transcript: "Agent: 你好。\nCaller: 早晨。" },
  }),
  "evolution.null-notes": changed({ type: "voicemail.created", object: { notes: null } }),
  "evolution.filled-notes": changed({
    type: "voicemail.created",
    object: { notes: "Called back on Monday." },
  }),
  "evolution.reviewed-voicemail": changed({
    type: "voicemail.created",
    object: { reviewed: true, callback_made: true },
  }),
  "evolution.empty-call": changed({ object: { transcript: "", duration_sec: 0 } }),
  "evolution.empty-strings": changed({ object: { recording_url: "", detected_language: "" } }),
  "evolution.integer-extremes": changed({
    object: { duration_sec: 2_147_483_648 },
    envelope: { created: 4_294_967_296 },
  }),
  "evolution.long-transcript": changed({
    object: { transcript: "Caller: Could you say that again, please?\n".repeat(1_400) },
  }),
  "evolution.large-transcript": changed({
    object: { transcript: "Caller: Could you say that again, please?\n".repeat(4_900) },
  }),
  "evolution.very-large-transcript": changed({
    object: { transcript: "Agent: Let me read the order back to you.\n".repeat(22_000) },
  }),
  "evolution.upper-case-id": changed({
    envelope: { id: (id: string) => `evt_${id.slice(4).toUpperCase()}` },
  }),
  "evolution.other-api-version": changed({ envelope: { api_version: "v1.1" } }),
};

/** An event that is like the usual ones of its type but for this has to be acknowledged. */
export function changed(changes: {
  /** `call.completed` unless given. */
  type?: EventType;
  object?: Record<string, unknown>;
  data?: Record<string, unknown>;
  envelope?: Record<string, unknown> & { id?: (id: string) => string };
}): Pick<Check, "about" | "run"> {
  const { type = "call.completed", object, data } = changes;
  const { id: changeId = (id: string) => id, ...fields } = changes.envelope ?? {};
  return {
    about: object === undefined ? [] : [type],
    run: accepted(({ deliver, event }) => {
      const envelope = event(type, object);
      return deliver({
        ...envelope,
        ...fields,
        id: changeId(envelope.id),
        data: { ...envelope.data, ...data },
      });
    }),
  };
}
