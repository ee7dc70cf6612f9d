import { html } from "../core/html.js";
import { countOf } from "../core/format.js";
import { BodyView } from "./code-view.js";
import { Empty, Loading, Problem } from "./empty.js";
import { hrefTo } from "../core/route.js";

/** A paged list in each of its states. */
export function PagedList({ pages, nothing, children }) {
  if (pages.error) return html`<${Problem} error=${pages.error} />`;
  if (!pages.isLoaded) return html`<${Loading} />`;
  if (pages.items.length > 0) return children;
  return html`<${Empty} icon="world" title=${nothing}
    ><p>
      Choose another filter, or <a href=${hrefTo("/trigger")}>trigger an event</a>: the world changes with it.
    </p><//
  >`;
}

export function MoreButton({ pages }) {
  if (!pages.hasMore)
    return html`<p class="feed-foot muted">${countOf(pages.items.length, "item")}: that is all.</p>`;
  return html`<p class="feed-foot">
    <button type="button" class="button" onClick=${pages.loadMore}>Load the next 50</button>
  </p>`;
}

/** The resource as the REST API answers it. */
export function ObjectDetails({ object }) {
  return html`<details class="object-details">
    <summary>As the REST API answers it</summary>
    <${BodyView} text=${JSON.stringify(object)} label=${`The ${object.object}`} />
  </details>`;
}
