import { useId } from "preact/hooks";
import { html } from "../core/html.js";

/** A labelled input of any kind: `render(id, describedBy)` gives the control itself. */
export function Field({ label, hint, problem, render, className = "" }) {
  const id = useId();
  const note = problem ?? hint;
  return html`<div class=${`field ${className}`}>
    <label for=${id}>${label}</label>
    ${render(id, note ? `${id}-note` : undefined)}
    ${note && html`<p id=${`${id}-note`} class=${problem ? "field-note bad" : "field-note"} aria-live="polite">${note}</p>`}
  </div>`;
}

/** A line of text. */
export function TextField({ value, onInput, type = "text", ...rest }) {
  return html`<${Field}
    ...${pick(rest)}
    render=${(id, note) =>
      html`<input
        id=${id}
        type=${type}
        aria-describedby=${note}
        value=${value}
        placeholder=${rest.placeholder}
        required=${rest.required}
        min=${rest.min}
        max=${rest.max}
        inputmode=${rest.inputmode}
        autofocus=${rest.autofocus}
        spellcheck=${false}
        autocomplete="off"
        onInput=${(event) => onInput(event.currentTarget.value)}
      />`}
  />`;
}

/** Several lines of text. */
export function TextArea({ value, onInput, rows = 4, ...rest }) {
  return html`<${Field}
    ...${pick(rest)}
    render=${(id, note) =>
      html`<textarea
        id=${id}
        rows=${rows}
        aria-describedby=${note}
        placeholder=${rest.placeholder}
        spellcheck=${false}
        value=${value}
        onInput=${(event) => onInput(event.currentTarget.value)}
      ></textarea>`}
  />`;
}

/** One of several: `options` are pairs of value and words. */
export function SelectField({ value, onChange, options, ...rest }) {
  return html`<${Field}
    ...${pick(rest)}
    render=${(id, note) =>
      html`<select
        id=${id}
        aria-describedby=${note}
        value=${value}
        onChange=${(event) => onChange(event.currentTarget.value)}
      >
        ${options.map(([choice, words]) => html`<option key=${choice} value=${choice} selected=${choice === value}>${words}</option>`)}
      </select>`}
  />`;
}

/** Any number of several, as boxes to tick. */
export function Checkboxes({ label, hint, options, chosen, onChange }) {
  const toggle = (value) =>
    onChange(chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value]);
  return html`<fieldset class="field checks">
    <legend>${label}</legend>
    <div class="check-grid">
      ${options.map(
        ([value, words, title]) =>
          html`<label key=${value} title=${title}
            ><input
              type="checkbox"
              checked=${chosen.includes(value)}
              onChange=${() => toggle(value)}
            />${words}</label
          >`,
      )}
    </div>
    ${hint && html`<p class="field-note">${hint}</p>`}
  </fieldset>`;
}

function pick({ label, hint, problem, className }) {
  return { label, hint, problem, className };
}
