import { useState } from "preact/hooks";
import { asError, control } from "../core/api.ts";
import { organizationChoices, useLive } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import { commandLine } from "../core/snippets.ts";
import { toast } from "../core/toasts.ts";
import type { Emitted, EventTypeForm } from "../core/types.ts";
import { countOf } from "../core/words.ts";
import { Button, Copyable } from "./button.tsx";
import { parsed } from "./code-view.tsx";
import { FaultPicker, SelectField, TextField } from "./field.tsx";
import { Panel, Problem } from "./page.tsx";

/** A form for one event type, made from its schema; empty fields are generated. */
export function EventForm({ type }: { type: EventTypeForm }) {
  const { endpoints } = useLive();
  const [values, setValues] = useState<Record<string, string>>({});
  const [extra, setExtra] = useState("");
  const [orgId, setOrgId] = useState("");
  const [count, setCount] = useState("1");
  const [faults, setFaults] = useState<string[]>([]);
  const [error, setError] = useState<Error>();
  const [isSending, setSending] = useState(false);
  const fields = fieldsOf(type);
  const overrides = overridesOf(fields, values, extra);

  async function send(event: Event) {
    event.preventDefault();
    if (!overrides.ok) return;
    setSending(true);
    try {
      const { object } = overrides;
      const body = {
        type: type.type,
        count: Number(count),
        object: Object.keys(object).length > 0 ? object : undefined,
        org_id: orgId || undefined,
        faults,
      };
      announce(await control.post("/events", body));
      setError(undefined);
    } catch (problem) {
      setError(asError(problem));
    } finally {
      setSending(false);
    }
  }

  const object = overrides.ok ? overrides.object : {};
  const command = commandOf({ type: type.type, object, orgId, count, faults });
  return (
    <form onSubmit={send}>
      <Panel title={type.type} aside="empty fields are generated">
        <div class="stack">
          {error && <Problem error={error} />}
          {endpoints?.size === 0 && (
            <p class="notice wait">
              No endpoint will receive it. <a href={hrefTo("/endpoints?new")}>Register an endpoint</a>.
            </p>
          )}
          {fields.length > 0 && (
            <div class="field-grid">
              {fields.map((field) => (
                <Override
                  key={field.name}
                  field={field}
                  value={values[field.name] ?? ""}
                  onInput={(value) => setValues({ ...values, [field.name]: value })}
                />
              ))}
            </div>
          )}
          <details open={fields.length === 0}>
            <summary>{fields.length === 0 ? "Fields as JSON" : "More fields, as JSON"}</summary>
            <TextField
              label="Overrides (JSON)"
              rows={5}
              value={extra}
              onInput={setExtra}
              placeholder={JSON.stringify(openExample(type), null, 2)}
              problem={overrides.ok ? undefined : overrides.message}
              hint="Merged deeply into the object."
            />
          </details>
          <FaultPicker chosen={faults} onChange={setFaults} />
          <div class="field-grid">
            <SelectField
              label="Organization"
              value={orgId}
              onChange={setOrgId}
              options={[["", "Any that fits"], ...organizationChoices()]}
            />
            <TextField label="How many" type="number" {...COUNT_LIMITS} value={count} onInput={setCount} />
          </div>
        </div>
        <footer class="panel-foot flex wraps between">
          {!overrides.ok && <p class="field-note small bad">{overrides.message}</p>}
          <Copyable text={command} label="Copy the same as a command" />
          <Button
            icon="trigger"
            type="submit"
            busy={isSending}
            kind="accent"
            disabled={!overrides.ok || isSending}
            words="Trigger"
          />
        </footer>
      </Panel>
    </form>
  );
}

const COUNT_LIMITS = { min: "1", max: "10000", required: true };

/** Where the samples' recordings would be served by default. */
const SAMPLES_ORIGIN = "http://localhost:4010";

type OverrideProps = { field: OverrideField; value: string; onInput: (value: string) => void };

function Override({ field, value, onInput }: OverrideProps) {
  const { name, kind, example } = field;
  if (kind === "boolean") {
    const options = ["", "true", "false"].map((choice) => [choice, choice || "generated"] as const);
    return <SelectField label={name} value={value} onChange={onInput} options={options} />;
  }
  const form = kind === "long" ? { rows: 3, className: "whole" } : {};
  return (
    <TextField
      label={name}
      type={kind === "integer" ? "number" : "text"}
      {...form}
      value={value}
      onInput={onInput}
      placeholder={wordsOf(example).replace(SAMPLES_ORIGIN, location.origin)}
    />
  );
}

function wordsOf(example: unknown): string {
  return typeof example === "string" ? example : JSON.stringify(example ?? null);
}

function announce({ events: [event, ...more], deliveries: [delivery, ...others] }: Emitted): void {
  const what = event !== undefined && more.length === 0 ? event.type : countOf(more.length + 1, "event");
  if (delivery === undefined) {
    const link = { href: hrefTo("/endpoints"), words: "Endpoints" };
    return toast("bad", `${what} was emitted, but no endpoint has selected it.`, link);
  }
  const link =
    others.length === 0
      ? { href: hrefTo(`/deliveries/${delivery.id}`), words: "Watch it" }
      : { href: hrefTo("/"), words: "Watch them" };
  toast("ok", `${what}: ${countOf(others.length + 1, "delivery", "deliveries")} on the way.`, link);
}

/** The service does not describe orders and bookings, so the form begins with an example of ours. */
function openExample({ example, schema }: EventTypeForm) {
  const known = ["id", "call_id", ...Object.keys(schema.properties ?? {})];
  const open = Object.entries(example).filter(([name]) => !known.includes(name));
  return open.length > 0 ? Object.fromEntries(open) : { some_new_field: true };
}

type Sent = { type: string; object: object; orgId: string; count: string; faults: string[] };

function commandOf({ type, object, orgId, count, faults }: Sent): string {
  const words = ["trigger", type];
  for (const [name, value] of Object.entries(object)) words.push("--set", `${name}=${wordsOf(value)}`);
  if (count !== "1" && count !== "") words.push("--count", count);
  if (orgId !== "") words.push("--org", orgId);
  for (const fault of faults) words.push("--fault", fault);
  return commandLine(words);
}

type Kind = "boolean" | "integer" | "json" | "long" | "text";
type JsonSchema = { type?: unknown; anyOf?: unknown };
export type OverrideField = { name: string; kind: Kind; example: unknown };
export type Values = Record<string, string>;
export type Overrides = { ok: true; object: Record<string, unknown> } | { ok: false; message: string };

const LONG = new Set(["transcript", "message_text", "notes"]);

/** The fields of an event type's object, from its JSON Schema: name, kind of input, example. */
export function fieldsOf({ schema, example }: EventTypeForm): OverrideField[] {
  return (
    Object.entries(schema.properties ?? {})
      // The event's type says it already.
      .filter(([name]) => name !== "object")
      .map(([name, property]) => ({
        name,
        kind: kindOf(name, property === true || property === false ? {} : property),
        example: new Map<string, unknown>(Object.entries(example)).get(name),
      }))
  );
}

/** The form's values as the object to send, merged with the JSON of further fields. */
export function overridesOf(fields: OverrideField[], values: Values, extra: string): Overrides {
  const object: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const value = values[name] ?? "";
    if (value !== "") object[name] = read(kind, value);
  }
  const more = parsed(extra.trim() || "{}");
  if (!more.ok) return more;
  if (typeof more.value !== "object" || more.value === null || Array.isArray(more.value))
    return { ok: false, message: 'Write an object, such as { "notes": "ring twice" }.' };
  return { ok: true, object: Object.assign(object, more.value) };
}

function kindOf(name: string, property: JsonSchema): Kind {
  if (property.type === "boolean") return "boolean";
  if (property.type === "integer") return "integer";
  if (LONG.has(name)) return "long";
  // No type at all: the service does not say which form it has.
  return property.type === undefined && property.anyOf === undefined ? "json" : "text";
}

function read(kind: Kind, value: string): unknown {
  if (kind === "boolean") return value === "true";
  if (kind === "integer") return Number(value);
  const json = kind === "json" ? parsed(value) : undefined;
  return json?.ok ? json.value : value;
}
