import { render } from "preact";
import { Guarded } from "./components/guarded.js";
import { Shell } from "./components/shell.js";
import { html } from "./core/html.js";
import { listenToKeys } from "./core/keys.js";
import { startLive } from "./core/live.js";
import { followLinks, useRoute } from "./core/route.js";
import { ConsolePage } from "./pages/console.js";
import { DocsPage } from "./pages/docs.js";
import { EndpointsPage } from "./pages/endpoints.js";
import { EventPage } from "./pages/event.js";
import { LivePage } from "./pages/live.js";
import { NotFoundPage } from "./pages/not-found.js";
import { ReadingsPage } from "./pages/readings.js";
import { TriggerPage } from "./pages/trigger.js";
import { VerifyPage } from "./pages/verify.js";
import { WorldPage } from "./pages/world.js";

/** What is shown at which address; the parts in brackets become the properties of the page. */
const PAGES = [
  [/^\/(?:deliveries\/(?<id>[^/]+))?$/, LivePage],
  [/^\/events\/(?<id>[^/]+)$/, EventPage],
  [/^\/endpoints(?:\/(?<id>[^/]+))?$/, EndpointsPage],
  [/^\/trigger$/, TriggerPage],
  [/^\/world(?:\/(?<section>calls|voicemails|agents|organizations))?$/, WorldPage],
  [/^\/console$/, ConsolePage],
  [/^\/docs$/, DocsPage],
  [/^\/readings$/, ReadingsPage],
  [/^\/verify$/, VerifyPage],
];

function App() {
  const { path, query } = useRoute();
  const [Page, params] = pageAt(path);
  // The list stays as it is while one opens what is in it.
  if (Page === LivePage)
    return html`<${Shell} path=${path} isFull><${Page} ...${params} query=${query} /><//>`;
  return html`<${Shell} path=${path}>
    <${Guarded} key=${path}><${Page} key=${params.id} ...${params} query=${query} /><//>
  <//>`;
}

function pageAt(path) {
  for (const [pattern, Page] of PAGES) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const params = Object.entries(match.groups ?? {}).map(([name, value]) => [name, value && decoded(value)]);
    return [Page, Object.fromEntries(params)];
  }
  return [NotFoundPage, {}];
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

followLinks();
listenToKeys();
startLive();
render(html`<${App} />`, document.querySelector("#app"));
