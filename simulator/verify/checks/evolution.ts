import type { EventType } from "../../../shared/events.ts";
import type { Check } from "../check.ts";
import { accepts } from "../judge.ts";
import { type Rule, RULES } from "../rules.ts";

const LOOSE_HINT = "Keep what you know and ignore the rest: use a schema that lets unknown fields through.";
const VALUE_HINT =
  "Treat such fields as plain strings; a value that you do not know is no reason to refuse the event.";
const SIZE_HINT =
  "Raise the limit of your body parser (Express: 100 KB by default); a transcript has no stated limit.";

/** Whether the receiver keeps up with what the service may send tomorrow. */
export const evolutionChecks: Check[] = [
  changed("unknown-envelope-field", "ignores an unknown field of the envelope", RULES.evolution, LOOSE_HINT, {
    envelope: { trace_id: "tr_1", attempt_hint: { number: 1 } },
  }),
  changed(
    "unknown-data-field",
    "ignores an unknown field beside data.object",
    RULES.envelope,
    LOOSE_HINT,
    { data: { previous_attributes: { outcome: "completed" } } },
    "advice",
  ),
  changed("unknown-object-field", "ignores unknown fields of the object", RULES.evolution, LOOSE_HINT, {
    about: [],
    object: { sentiment: 0.8, tags: ["vip"], summary: null, nested: { deeper: [[{}]] } },
  }),
  accepts(
    "evolution",
    {
      id: "evolution.unknown-type",
      title: "acknowledges an event type that it does not know",
      level: "must",
      about: ["new types"],
      spec: RULES.evolution,
      hint: "An endpoint without a selection gets new types the day they appear. Store or drop it, but answer 2xx.",
    },
    ({ deliver, event, undocumented }) =>
      deliver(undocumented(event("call.completed", {}, { type: "call.summarized" }))),
  ),
  changed("unknown-outcome", "acknowledges a call with an outcome never seen", RULES.openValues, VALUE_HINT, {
    object: { outcome: "abandoned" },
  }),
  changed(
    "unknown-reason",
    "acknowledges a voicemail with a reason never seen",
    RULES.openValues,
    VALUE_HINT,
    {
      type: "voicemail.created",
      object: { reason: "line_busy" },
    },
  ),
  changed("unknown-language", "acknowledges a call in a language never seen", RULES.openValues, VALUE_HINT, {
    object: { detected_language: "yue", transcript: "Agent: 你好。\nCaller: 早晨。" },
  }),
  changed("null-notes", "acknowledges a voicemail without notes", RULES.nullable, "notes may be null.", {
    type: "voicemail.created",
    object: { notes: null },
  }),
  changed(
    "filled-notes",
    "acknowledges a voicemail with notes",
    RULES.nullable,
    "notes may be null, or a string.",
    {
      type: "voicemail.created",
      object: { notes: "Called back on Monday." },
    },
  ),
  changed(
    "reviewed-voicemail",
    "acknowledges a voicemail that was reviewed and called back",
    RULES.nullable,
    "reviewed and callback_made may be true by the time an attempt arrives.",
    { type: "voicemail.created", object: { reviewed: true, callback_made: true } },
  ),
  changed(
    "empty-call",
    "acknowledges a call of no length in which nothing was said",
    RULES.openValues,
    'A caller who hangs up at once leaves an empty transcript and 0 seconds; do not take 0 or "" for missing.',
    { object: { transcript: "", duration_sec: 0 } },
  ),
  changed(
    "empty-strings",
    "acknowledges an empty recording_url and language",
    RULES.openValues,
    "A call without recording is still a call: take a field that you do not need as it comes.",
    { object: { recording_url: "", detected_language: "" } },
    "advice",
  ),
  changed(
    "integer-extremes",
    "acknowledges a duration and a created beyond 32 bits",
    RULES.envelope,
    "Keep integers in 64 bits; a column of 32 ends in 2038.",
    { object: { duration_sec: 2_147_483_648 }, envelope: { created: 4_294_967_296 } },
    "advice",
  ),
  changed("long-transcript", "acknowledges the transcript of an hour's call", RULES.envelope, SIZE_HINT, {
    object: { transcript: "Caller: Could you say that again, please?\n".repeat(1_400) },
  }),
  changed(
    "large-transcript",
    "acknowledges a transcript of 200 KB",
    RULES.envelope,
    SIZE_HINT,
    { object: { transcript: "Caller: Could you say that again, please?\n".repeat(4_900) } },
    "advice",
  ),
  changed(
    "very-large-transcript",
    "acknowledges a transcript of 900 KB",
    RULES.envelope,
    SIZE_HINT,
    { object: { transcript: "Agent: Let me read the order back to you.\n".repeat(22_000) } },
    "advice",
  ),
  changed(
    "upper-case-id",
    "acknowledges an event id with upper-case hexadecimal digits",
    RULES.envelope,
    "The id is evt_ and 32 hexadecimal characters, of either case.",
    { envelope: { id: (id: string) => `evt_${id.slice(4).toUpperCase()}` } },
  ),
  changed(
    "other-api-version",
    "acknowledges another api_version",
    RULES.evolution,
    "Note it in your log, but answer 2xx: refusing it loses the event after six attempts.",
    { envelope: { api_version: "v1.1" } },
    "advice",
  ),
];

type Changes = {
  /** `call.completed` unless given. */
  type?: EventType;
  /** The types that have what is changed; `type` when an object's documented field is. */
  about?: readonly EventType[];
  object?: Record<string, unknown>;
  data?: Record<string, unknown>;
  envelope?: Record<string, unknown> & { id?: (id: string) => string };
};

function changed(
  name: string,
  title: string,
  spec: Rule,
  hint: string,
  changes: Changes,
  level: Check["level"] = "must",
): Check {
  const type = changes.type ?? "call.completed";
  const about = changes.about ?? (changes.object === undefined ? [] : [type]);
  return accepts(
    "evolution",
    { id: `evolution.${name}`, title, level, about, spec, hint },
    ({ deliver, event }) => {
      const envelope = event(type, changes.object);
      const { id: changeId = (id: string) => id, ...rest } = changes.envelope ?? {};
      return deliver({
        ...envelope,
        ...rest,
        id: changeId(envelope.id),
        data: { ...envelope.data, ...changes.data },
      });
    },
  );
}
