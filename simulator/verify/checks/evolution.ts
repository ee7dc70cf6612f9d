import type { EventType } from "../../../shared/events.ts";
import type { Check, Level, Named } from "../check.ts";
import { accepts } from "../judge.ts";
import { RULES } from "../rules.ts";

const LOOSE_HINT = "Keep what you know and ignore the rest: use a schema that lets unknown fields through.";
const VALUE_HINT =
  "Treat such fields as plain strings; a value that you do not know is no reason to refuse the event.";
const SIZE_HINT =
  "Raise the limit of your body parser (Express: 100 KB by default); a transcript has no stated limit.";

/** Whether the receiver keeps up with what the service may send tomorrow. */
export const evolutionChecks: Check[] = [
  changed(
    {
      name: "unknown-envelope-field",
      title: "ignores an unknown field of the envelope",
      spec: RULES.evolution,
      hint: LOOSE_HINT,
    },
    {
      envelope: { trace_id: "tr_1", attempt_hint: { number: 1 } },
    },
  ),
  changed(
    {
      name: "unknown-data-field",
      title: "ignores an unknown field beside data.object",
      spec: RULES.envelope,
      hint: LOOSE_HINT,
      level: "advice",
    },
    { data: { previous_attributes: { outcome: "completed" } } },
  ),
  changed(
    {
      name: "unknown-object-field",
      title: "ignores unknown fields of the object",
      spec: RULES.evolution,
      hint: LOOSE_HINT,
    },
    {
      about: [],
      object: { sentiment: 0.8, tags: ["vip"], summary: null, nested: { deeper: [[{}]] } },
    },
  ),
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
  changed(
    {
      name: "unknown-outcome",
      title: "acknowledges a call with an outcome never seen",
      spec: RULES.openValues,
      hint: VALUE_HINT,
    },
    {
      object: { outcome: "abandoned" },
    },
  ),
  changed(
    {
      name: "unknown-reason",
      title: "acknowledges a voicemail with a reason never seen",
      spec: RULES.openValues,
      hint: VALUE_HINT,
    },
    {
      type: "voicemail.created",
      object: { reason: "line_busy" },
    },
  ),
  changed(
    {
      name: "unknown-language",
      title: "acknowledges a call in a language never seen",
      spec: RULES.openValues,
      hint: VALUE_HINT,
    },
    {
      object: { detected_language: "yue", transcript: "Agent: 你好。\nCaller: 早晨。" },
    },
  ),
  changed(
    {
      name: "null-notes",
      title: "acknowledges a voicemail without notes",
      spec: RULES.nullable,
      hint: "notes may be null.",
    },
    {
      type: "voicemail.created",
      object: { notes: null },
    },
  ),
  changed(
    {
      name: "filled-notes",
      title: "acknowledges a voicemail with notes",
      spec: RULES.nullable,
      hint: "notes may be null, or a string.",
    },
    {
      type: "voicemail.created",
      object: { notes: "Called back on Monday." },
    },
  ),
  changed(
    {
      name: "reviewed-voicemail",
      title: "acknowledges a voicemail that was reviewed and called back",
      spec: RULES.nullable,
      hint: "reviewed and callback_made may be true by the time an attempt arrives.",
    },
    { type: "voicemail.created", object: { reviewed: true, callback_made: true } },
  ),
  changed(
    {
      name: "empty-call",
      title: "acknowledges a call of no length in which nothing was said",
      spec: RULES.openValues,
      hint: 'A caller who hangs up at once leaves an empty transcript and 0 seconds; do not take 0 or "" for missing.',
    },
    { object: { transcript: "", duration_sec: 0 } },
  ),
  changed(
    {
      name: "empty-strings",
      title: "acknowledges an empty recording_url and language",
      spec: RULES.openValues,
      hint: "A call without recording is still a call: take a field that you do not need as it comes.",
      level: "advice",
    },
    { object: { recording_url: "", detected_language: "" } },
  ),
  changed(
    {
      name: "integer-extremes",
      title: "acknowledges a duration and a created beyond 32 bits",
      spec: RULES.envelope,
      hint: "Keep integers in 64 bits; a column of 32 ends in 2038.",
      level: "advice",
    },
    { object: { duration_sec: 2_147_483_648 }, envelope: { created: 4_294_967_296 } },
  ),
  changed(
    {
      name: "long-transcript",
      title: "acknowledges the transcript of an hour's call",
      spec: RULES.envelope,
      hint: SIZE_HINT,
    },
    {
      object: { transcript: "Caller: Could you say that again, please?\n".repeat(1_400) },
    },
  ),
  changed(
    {
      name: "large-transcript",
      title: "acknowledges a transcript of 200 KB",
      spec: RULES.envelope,
      hint: SIZE_HINT,
      level: "advice",
    },
    { object: { transcript: "Caller: Could you say that again, please?\n".repeat(4_900) } },
  ),
  changed(
    {
      name: "very-large-transcript",
      title: "acknowledges a transcript of 900 KB",
      spec: RULES.envelope,
      hint: SIZE_HINT,
      level: "advice",
    },
    { object: { transcript: "Agent: Let me read the order back to you.\n".repeat(22_000) } },
  ),
  changed(
    {
      name: "upper-case-id",
      title: "acknowledges an event id with upper-case hexadecimal digits",
      spec: RULES.envelope,
      hint: "The id is evt_ and 32 hexadecimal characters, of either case.",
    },
    { envelope: { id: (id: string) => `evt_${id.slice(4).toUpperCase()}` } },
  ),
  changed(
    {
      name: "other-api-version",
      title: "acknowledges another api_version",
      spec: RULES.evolution,
      hint: "Note it in your log, but answer 2xx: refusing it loses the event after six attempts.",
      level: "advice",
    },
    { envelope: { api_version: "v1.1" } },
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
  { name, level = "must", ...rest }: Named<"title" | "spec" | "hint"> & { level?: Level },
  changes: Changes,
): Check {
  const type = changes.type ?? "call.completed";
  const about = changes.about ?? (changes.object === undefined ? [] : [type]);
  return accepts("evolution", { ...rest, id: `evolution.${name}`, level, about }, ({ deliver, event }) => {
    const envelope = event(type, changes.object);
    const { id: changeId = (id: string) => id, ...fields } = changes.envelope ?? {};
    return deliver({
      ...envelope,
      ...fields,
      id: changeId(envelope.id),
      data: { ...envelope.data, ...changes.data },
    });
  });
}
