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

type FieldProps = Labelled & { render: (id: string, describedBy: string | undefined) => ComponentChildren };

/** A labelled input of any kind: `render(id, describedBy)` gives the control itself. */
export function Field({ label, hint, problem, render, className = "" }: FieldProps) {
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

type Text = Labelled & { value: string; onInput: (value: string) => void };

type TextFieldProps = Text & {
  type?: "text" | "number" | "password" | "datetime-local";
  placeholder?: string;
  required?: boolean;
  min?: string;
  max?: string;
  inputmode?: "numeric";
  autofocus?: boolean;
};

/** A line of text. */
export function TextField({ label, hint, problem, className, onInput, ...input }: TextFieldProps) {
  // The types of inputs tell apart which attributes each kind has.
  const own: object = input;
  return (
    <Field
      {...{ label, hint, problem, className }}
      render={(id, note) => (
        <input
          id={id}
          aria-describedby={note}
          spellcheck={false}
          autocomplete="off"
          {...own}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    />
  );
}

type TextAreaProps = Text & { rows?: number; placeholder?: string; autofocus?: boolean };

/** Several lines of text. */
export function TextArea({ label, hint, problem, className, onInput, ...input }: TextAreaProps) {
  return (
    <Field
      {...{ label, hint, problem, className }}
      render={(id, note) => (
        <textarea
          id={id}
          aria-describedby={note}
          spellcheck={false}
          {...input}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    />
  );
}

type SelectProps = Choices & {
  id?: string;
  class?: string;
  "aria-label"?: string;
  "aria-describedby"?: string | undefined;
};

/** One of several, for whoever brings the label: `options` are pairs of value and words. */
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

/** The same with its label. */
export function SelectField({ value, onChange, options, ...labelled }: Labelled & Choices) {
  return (
    <Field
      {...labelled}
      render={(id, note) => <Select id={id} aria-describedby={note} {...{ value, onChange, options }} />}
    />
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
