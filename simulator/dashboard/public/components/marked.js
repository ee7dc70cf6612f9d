import { html } from "../core/html.js";

/** Words between backticks as code. */
export function Marked({ text }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}
