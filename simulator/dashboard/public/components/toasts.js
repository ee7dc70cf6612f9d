import { useEffect, useState } from "preact/hooks";
import { html } from "../core/html.js";
import { dismiss, watchToasts } from "../core/toasts.js";
import { Icon } from "./icon.js";

/** What is said in passing, also to screen readers. */
export function Toasts() {
  const [toasts, setToasts] = useState([]);
  useEffect(() => watchToasts(setToasts), []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.map(
      ({ id, kind, text, link }) =>
        html`<div key=${id} class=${`toast ${kind}`}>
          <${Icon} name=${kind === "ok" ? "check" : "cross"} />
          <span class="foreign">${text}</span>
          ${link && html`<a href=${link.href}>${link.words}</a>`}
          <button type="button" class="icon-button small" aria-label="Dismiss" onClick=${() => dismiss(id)}>
            <${Icon} name="cross" size=${14} />
          </button>
        </div>`,
    )}
  </div>`;
}
