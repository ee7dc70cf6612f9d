import { useEffect, useRef } from "preact/hooks";
import { html } from "../core/html.js";

/** The head of every page: its title, a line about it, and what can be done. */
export function PageHead({ title, shortTitle, lead, as, children }) {
  return html`<div class="page-head">
    <div class="page-title">
      <${PageTitle} title=${title} shortTitle=${shortTitle} as=${as} />
      ${lead && html`<p class="lead">${lead}</p>`}
    </div>
    ${children && html`<div class="actions">${children}</div>`}
  </div>`;
}

/**
 * The title of a page: names the window, and takes the focus when the page is opened. Of two that are in sight at once,
 * only one does so.
 */
export function PageTitle({
  title,
  shortTitle = title,
  as = "h1",
  className = "",
  namesWindow = true,
  takesFocus = true,
}) {
  const ref = useRef();
  useEffect(() => {
    if (namesWindow) document.title = `${shortTitle} · Voice agent simulator`;
  }, [shortTitle, namesWindow]);
  useEffect(() => {
    if (isFirstPage) isFirstPage = false;
    else if (takesFocus) ref.current.focus({ preventScroll: true });
  }, []);
  return html`<${as} ref=${ref} tabindex="-1" class=${className}>${title}<//>`;
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
