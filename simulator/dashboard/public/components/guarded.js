import { useErrorBoundary } from "preact/hooks";
import { html } from "../core/html.js";
import { hrefTo } from "../core/route.js";
import { Problem } from "./empty.js";
import { PageHead } from "./page.js";

/** What cannot show something says so; everything around it goes on. */
export function Guarded({ children }) {
  const [error] = useErrorBoundary();
  if (error === undefined) return children;
  return html`<${PageHead} title="This page failed" />
    <${Problem} error=${{ message: `It met something that it cannot show: ${error.message}.` }}>
      <p><a href=${hrefTo("/")}>Back to Live</a></p>
    <//>`;
}
