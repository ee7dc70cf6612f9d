import { useEffect, useRef } from "preact/hooks";
import { html } from "../core/html.js";

/** The head of every page: its title, a line about it, and what can be done. Takes the focus when the page is opened. */
export function PageHead({ title, shortTitle = title, lead, children }) {
  const ref = useRef();
  useEffect(() => {
    document.title = `${shortTitle} · Voice agent simulator`;
  }, [shortTitle]);
  useEffect(() => {
    if (isFirstPage) isFirstPage = false;
    else ref.current.focus({ preventScroll: true });
  }, []);
  return html`<div class="page-head">
    <div class="page-title">
      <h1 ref=${ref} tabindex="-1">${title}</h1>
      ${lead && html`<p class="lead">${lead}</p>`}
    </div>
    ${children && html`<div class="actions">${children}</div>`}
  </div>`;
}

let isFirstPage = true;

/** A titled box. */
export function Panel({ title, aside, children, className = "" }) {
  return html`<section class=${`panel ${className}`}>
    ${
      title &&
      html`<header>
        <h2>${title}</h2>
        ${aside && html`<div class="aside">${aside}</div>`}
      </header>`
    }
    ${children}
  </section>`;
}
