import { useMemo, useState } from "preact/hooks";
import { html } from "../core/html.js";
import { CopyButton } from "./copy-button.js";

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Beyond this, colours cost more than they help. */
const MOST_COLOURED = 60_000;

/** A body: pretty where it is JSON, raw as it came, and copied raw. */
export function BodyView({ text, label, note }) {
  const pretty = useMemo(() => prettyJson(text), [text]);
  const [wantsRaw, setRaw] = useState(false);
  const isRaw = wantsRaw || pretty === undefined;
  return html`<div class="body-view">
    <div class="body-bar">
      <h3>${label}</h3>
      <span class="muted"
        >${note ?? `${new TextEncoder().encode(text).length.toLocaleString("en")} bytes`}</span
      >
      <span class="spacer"></span>
      ${
        pretty !== undefined &&
        html`<${Segments}
          label=${`How to show: ${label}`}
          value=${isRaw ? "raw" : "pretty"}
          options=${[
            ["pretty", "Pretty"],
            ["raw", "Raw"],
          ]}
          onChange=${(value) => setRaw(value === "raw")}
        />`
      }
      <${CopyButton} quiet text=${text} label=${`Copy ${label}`} />
    </div>
    ${
      text === ""
        ? html`<p class="muted none">Empty.</p>`
        : html`<${Code} text=${isRaw ? text : pretty} json=${!isRaw} label=${label} />`
    }
  </div>`;
}

/** Text as it is, coloured when it is JSON; scrolls by itself and can be reached by keyboard. */
export function Code({ text, json = false, label }) {
  const parts = useMemo(() => (json && text.length < MOST_COLOURED ? coloured(text) : text), [text, json]);
  return html`<pre class="code foreign" tabindex="0" role="region" aria-label=${label}>${parts}</pre>`;
}

/** A few choices side by side, of which one is on. */
export function Segments({ label, value, options, onChange, disabled = false }) {
  return html`<div class="segments" role="group" aria-label=${label}>
    ${options.map(
      ([choice, words, title]) =>
        html`<button
          type="button"
          key=${choice}
          title=${title}
          disabled=${disabled}
          aria-pressed=${String(choice === value)}
          onClick=${() => onChange(choice)}
        >
          ${words}
        </button>`,
    )}
  </div>`;
}

function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
}

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match;
    const shown = string ?? whole;
    parts.push(text.slice(end, match.index), html`<span class=${kindOf(string, colon)}>${shown}</span>`);
    end = match.index + shown.length;
  }
  parts.push(text.slice(end));
  return parts;
}

function kindOf(string, colon) {
  if (string === undefined) return "j-value";
  return colon === undefined ? "j-string" : "j-key";
}
