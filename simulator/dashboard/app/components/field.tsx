import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

type Choices = {
  value: string;
  onChange: (value: string) => void;
  options: readonly (readonly [choice: string, words: string])[];
};
type Labelled = {
  label: string;
  hint?: string | undefined;
  problem?: string | undefined;
  className?: string | undefined;
};

/** A labelled input of any kind: `render(id, describedBy)` gives the control itself. */
export function Field({
  label,
  hint,
  problem,
  render,
  className = "",
}: Labelled & { render: (id: string, describedBy: string | undefined) => ComponentChildren }) {
  const id = useId();
  const note = problem ?? hint;
  return (
    <div class={`field ${className}`}>
      <label for={id}>{label}</label>
      {render(id, note ? `${id}-note` : undefined)}
      {note && (
        <p id={`${id}-note`} class={`field-note small ${problem ? "bad" : ""}`} aria-live="polite">
          {note}
        </p>
      )}
    </div>
  );
}

/** A line of text. */
export function TextField({
  value,
  onInput,
  type = "text",
  ...rest
}: Labelled & {
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "number" | "password" | "datetime-local";
  placeholder?: string;
  required?: boolean;
  min?: string;
  max?: string;
  inputmode?: "numeric";
  autofocus?: boolean;
}) {
  // The types of inputs tell apart which attributes each kind has.
  const kind: object = { type };
  return (
    <Field
      {...pick(rest)}
      render={(id, note) => (
        <input
          id={id}
          {...kind}
          aria-describedby={note}
          value={value}
          placeholder={rest.placeholder}
          required={rest.required}
          min={rest.min}
          max={rest.max}
          inputmode={rest.inputmode}
          autofocus={rest.autofocus}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    />
  );
}

/** Several lines of text. */
export function TextArea({
  value,
  onInput,
  rows = 4,
  ...rest
}: Labelled & {
  value: string;
  onInput: (value: string) => void;
  rows?: number;
  placeholder?: string;
  autofocus?: boolean;
}) {
  return (
    <Field
      {...pick(rest)}
      render={(id, note) => (
        <textarea
          id={id}
          rows={rows}
          aria-describedby={note}
          placeholder={rest.placeholder}
          spellcheck={false}
          autofocus={rest.autofocus}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    />
  );
}

/** One of several, for whoever brings the label: `options` are pairs of value and words. */
export function Select({
  value,
  onChange,
  options,
  ...rest
}: Choices & {
  id?: string;
  class?: string;
  "aria-label"?: string;
  "aria-describedby"?: string | undefined;
}) {
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

/** The same with its label. */
export function SelectField({ value, onChange, options, ...rest }: Labelled & Choices) {
  return (
    <Field
      {...pick(rest)}
      render={(id, note) => <Select id={id} aria-describedby={note} {...{ value, onChange, options }} />}
    />
  );
}

/** Any number of several, as boxes to tick. */
export function Checkboxes({
  label,
  hint,
  options,
  chosen,
  onChange,
}: {
  label: string;
  hint: string;
  options: readonly (readonly [value: string, words: string, title: string])[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}) {
  const toggle = (value: string) =>
    onChange(chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value]);
  return (
    <fieldset class="field checks">
      <legend>{label}</legend>
      <div class="check-grid">
        {options.map(([value, words, title]) => (
          <label class="check" key={value} title={title}>
            <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
            {words}
          </label>
        ))}
      </div>
      {hint && <p class="field-note small">{hint}</p>}
    </fieldset>
  );
}

function pick({ label, hint, problem, className }: Labelled): Labelled {
  return { label, hint, problem, className };
}
