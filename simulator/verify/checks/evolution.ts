import type { EventType } from "../../../shared/events.ts";
import type { Check } from "../check.ts";
import { accepted, checksOf } from "../judge.ts";
import { RULES } from "../rules.ts";

const LOOSE_HINT = "Keep what you know and ignore the rest: use a schema that lets unknown fields through.";
const VALUE_HINT =
  "Treat such fields as plain strings; a value that you do not know is no reason to refuse the event.";
const SIZE_HINT =
  "Raise the limit of your body parser (Express: 100 KB by default); a transcript has no stated limit.";

/** Whether the receiver keeps up with what the service may send tomorrow. */
export const evolutionChecks: Check[] = [
  ...checksOf(
    "evolution",
    { spec: RULES.evolution, hint: LOOSE_HINT },
    {
      "unknown-envelope-field": {
        title: "ignores an unknown field of the envelope",
        ...changed({ envelope: { trace_id: "tr_1", attempt_hint: { number: 1 } } }),
      },
      "unknown-data-field": {
        title: "ignores an unknown field beside data.object",
        spec: RULES.envelope,
        level: "advice",
        ...changed({ data: { previous_attributes: { outcome: "completed" } } }),
      },
      "unknown-object-field": {
        title: "ignores unknown fields of the object",
        ...changed({ object: { sentiment: 0.8, tags: ["vip"], summary: null, nested: { deeper: [[{}]] } } }),
        about: [],
      },
      "unknown-type": {
        title: "acknowledges an event type that it does not know",
        about: ["new types"],
        hint: "An endpoint without a selection gets new types the day they appear. Store or drop it, but answer 2xx.",
        run: accepted(({ deliver, event, undocumented }) =>
          deliver(undocumented(event("call.completed", {}, { type: "call.summarized" }))),
        ),
      },
    },
  ),
  ...checksOf(
    "evolution",
    { spec: RULES.openValues, hint: VALUE_HINT },
    {
      "unknown-outcome": {
        title: "acknowledges a call with an outcome never seen",
        ...changed({ object: { outcome: "abandoned" } }),
      },
      "unknown-reason": {
        title: "acknowledges a voicemail with a reason never seen",
        ...changed({ type: "voicemail.created", object: { reason: "line_busy" } }),
      },
      "unknown-language": {
        title: "acknowledges a call in a language never seen",
        ...changed({ object: { detected_language: "yue", transcript: "Agent: 你好。\nCaller: 早晨。" } }),
      },
    },
  ),
  ...checksOf(
    "evolution",
    { spec: RULES.nullable, hint: "notes may be null, or a string." },
    {
      "null-notes": {
        title: "acknowledges a voicemail without notes",
        hint: "notes may be null.",
        ...changed({ type: "voicemail.created", object: { notes: null } }),
      },
      "filled-notes": {
        title: "acknowledges a voicemail with notes",
        ...changed({ type: "voicemail.created", object: { notes: "Called back on Monday." } }),
      },
      "reviewed-voicemail": {
        title: "acknowledges a voicemail that was reviewed and called back",
        hint: "reviewed and callback_made may be true by the time an attempt arrives.",
        ...changed({ type: "voicemail.created", object: { reviewed: true, callback_made: true } }),
      },
      "empty-call": {
        title: "acknowledges a call of no length in which nothing was said",
        spec: RULES.openValues,
        hint: 'A caller who hangs up at once leaves an empty transcript and 0 seconds; do not take 0 or "" for missing.',
        ...changed({ object: { transcript: "", duration_sec: 0 } }),
      },
      "empty-strings": {
        title: "acknowledges an empty recording_url and language",
        level: "advice",
        spec: RULES.openValues,
        hint: "A call without recording is still a call: take a field that you do not need as it comes.",
        ...changed({ object: { recording_url: "", detected_language: "" } }),
      },
    },
  ),
  ...checksOf(
    "evolution",
    { spec: RULES.envelope, hint: SIZE_HINT },
    {
      "integer-extremes": {
        title: "acknowledges a duration and a created beyond 32 bits",
        level: "advice",
        hint: "Keep integers in 64 bits; a column of 32 ends in 2038.",
        ...changed({ object: { duration_sec: 2_147_483_648 }, envelope: { created: 4_294_967_296 } }),
      },
      "long-transcript": {
        title: "acknowledges the transcript of an hour's call",
        ...changed({ object: { transcript: "Caller: Could you say that again, please?\n".repeat(1_400) } }),
      },
      "large-transcript": {
        title: "acknowledges a transcript of 200 KB",
        level: "advice",
        ...changed({ object: { transcript: "Caller: Could you say that again, please?\n".repeat(4_900) } }),
      },
      "very-large-transcript": {
        title: "acknowledges a transcript of 900 KB",
        level: "advice",
        ...changed({ object: { transcript: "Agent: Let me read the order back to you.\n".repeat(22_000) } }),
      },
      "upper-case-id": {
        title: "acknowledges an event id with upper-case hexadecimal digits",
        hint: "The id is evt_ and 32 hexadecimal characters, of either case.",
        ...changed({ envelope: { id: (id: string) => `evt_${id.slice(4).toUpperCase()}` } }),
      },
      "other-api-version": {
        title: "acknowledges another api_version",
        level: "advice",
        spec: RULES.evolution,
        hint: "Note it in your log, but answer 2xx: refusing it loses the event after six attempts.",
        ...changed({ envelope: { api_version: "v1.1" } }),
      },
    },
  ),
];

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
