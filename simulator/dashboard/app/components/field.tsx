import type { ComponentChildren, Ref } from "preact";
import { useId } from "preact/hooks";
import { useGot } from "../core/load.ts";
import { toggled } from "../core/words.ts";
import { Icon } from "./button.tsx";
import { Marked } from "./page.tsx";

type Labelled = { label: string } & Partial<Record<"hint" | "problem" | "className", string | undefined>>;
/** The attributes that connect an input with its label and note. */
type Ties = { id: string; "aria-describedby": string | undefined };
type FieldProps = Labelled & { render: (ties: Ties) => ComponentChildren };

/** A labelled input of any kind: `render` returns the control itself. */
function Field({ label, hint, problem, render, className = "" }: FieldProps) {
  const id = useId();
  const note = problem ?? hint;
  const tone = problem ? "bad" : "";
  return (
    <div class={`field ${className}`}>
      <label for={id}>{label}</label>
      {render({ id, "aria-describedby": note ? `${id}-note` : undefined })}
      {note && <p id={`${id}-note`} class={`field-note small ${tone}`} aria-live="polite" children={note} />}
    </div>
  );
}

type TextProps = Labelled & {
  value: string;
  onInput: (value: string) => void;
  rows?: number;
  type?: "text" | "number" | "password" | "datetime-local";
  placeholder?: string;
  required?: boolean;
  min?: string;
  max?: string;
  inputmode?: "numeric";
  autofocus?: boolean;
};

/** A line of text or, with `rows`, several. */
export function TextField({ label, hint, problem, className, onInput, ...input }: TextProps) {
  // The types of inputs tell apart which attributes each kind has.
  const own: object = { spellcheck: false, autocomplete: "off", ...input };
  const typed = (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value);
  const Tag = input.rows === undefined ? "input" : "textarea";
  const render = (ties: Ties) => <Tag {...ties} {...own} onInput={typed} />;
  return <Field {...{ label, hint, problem, className, render }} />;
}

type Choices = {
  value: string;
  onChange: (value: string) => void;
  options: readonly (readonly [choice: string, words: string])[];
};
type SelectProps = Choices & Partial<Ties> & { class?: string; "aria-label"?: string };

/** A select without a label: `options` are pairs of value and words. */
export function Select({ value, onChange, options, ...rest }: SelectProps) {
  return (
    <select {...rest} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map(([choice, words]) => (
        <option key={choice} value={choice} selected={choice === value}>
          {words}
        </option>
      ))}
    </select>
  );
}

/** A select with its label. */
export function SelectField({ value, onChange, options, ...labelled }: Labelled & Choices) {
  return <Field {...labelled} render={(ties) => <Select {...ties} {...{ value, onChange, options }} />} />;
}

type SearchProps = {
  label: string;
  placeholder: string;
  value: string;
  onInput: (value: string) => void;
  inputRef?: Ref<HTMLInputElement>;
  list?: string;
  children?: ComponentChildren;
};

/** The search; Escape leaves it. */
export function SearchField({ label, onInput, inputRef, children, ...input }: SearchProps) {
  return (
    <label class="search">
      <Icon name="search" size={15} />
      <span class="visually-hidden">{label}</span>{" "}
      <input
        ref={inputRef ?? null}
        type="search"
        autocomplete="off"
        {...input}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      {children}
    </label>
  );
}

type CheckBoxProps = { checked: boolean; onChange: () => void; title?: string; children: ComponentChildren };

/** A checkbox with its label. */
export function CheckBox({ checked, onChange, title, children }: CheckBoxProps) {
  return (
    <label class="check flex hangs" title={title}>
      <input type="checkbox" checked={checked} onChange={onChange} />
      {children}
    </label>
  );
}

type CheckboxesProps = {
  label: string;
  hint: string;
  options: readonly (readonly [value: string, words: string, title: string])[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
};

/** Any number of several, as boxes to tick. */
export function Checkboxes({ label, hint, options, chosen, onChange }: CheckboxesProps) {
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      <div class="field-grid">
        {options.map(([value, words, title]) => (
          <CheckBox
            key={value}
            title={title}
            checked={chosen.includes(value)}
            onChange={() => onChange(toggled(chosen, value))}
          >
            {words}
          </CheckBox>
        ))}
      </div>
      <p class="field-note small">{hint}</p>
    </fieldset>
  );
}

const PLACES = { "fan-out": "When sent", body: "Body", signature: "Signature", wire: "On the wire" };
const COUNTS = ["", "1", "2", "3", "4", "5"].map((n) => [n, n ? `the first ${n}` : "every attempt"] as const);

type FaultPickerProps = { title?: string; chosen: readonly string[]; onChange: (faults: string[]) => void };

/** A picker of faults, closed at first; `chosen` are texts such as `drop-answer:2`. */
export function FaultPicker({ title = "Faults", chosen, onChange }: FaultPickerProps) {
  const faults = useGot("/faults").value?.data ?? [];
  const counts = new Map(
    chosen.map((text) => text.split(":")).map(([name = "", count = ""]): [string, string] => [name, count]),
  );

  const toggle = (name: string) => set(name, counts.has(name) ? undefined : "");
  function set(name: string, count: string | undefined) {
    const next = new Map(counts);
    if (count === undefined) next.delete(name);
    else next.set(name, count);
    onChange([...next].map(([fault, attempts]) => (attempts === "" ? fault : `${fault}:${attempts}`)));
  }

  return (
    <details open={chosen.length > 0}>
      <summary>
        {title}
        {chosen.length > 0 ? ` (${chosen.length})` : ""}
      </summary>
      <div class="stack">
        {Object.entries(PLACES).map(([place, words]) => (
          <fieldset key={place}>
            <legend>{words}</legend>
            {faults
              .filter((fault) => fault.at === place)
              .map(({ name, title: meaning }) => (
                <div class="fault flex hangs" key={name}>
                  <CheckBox checked={counts.has(name)} onChange={() => toggle(name)}>
                    <span>
                      <code>{name}</code>
                      <span class="muted small">
                        <Marked text={meaning} />
                      </span>
                    </span>
                  </CheckBox>
                  {counts.has(name) && (
                    <Select
                      aria-label={`Attempts with ${name}`}
                      value={counts.get(name) ?? ""}
                      options={COUNTS}
                      onChange={(count) => set(name, count)}
                    />
                  )}
                </div>
              ))}
          </fieldset>
        ))}
      </div>
    </details>
  );
}
