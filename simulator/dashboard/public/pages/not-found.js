import { Empty } from "../components/empty.js";
import { PageHead } from "../components/page.js";
import { html } from "../core/html.js";
import { hrefTo } from "../core/route.js";

export function NotFoundPage() {
  return html`<${PageHead} title="There is nothing here" />
    <${Empty} icon="search" title="No page has this address">
      <p>Everything that happens stands in <a href=${hrefTo("/")}>Live</a>.</p>
    <//>`;
}
