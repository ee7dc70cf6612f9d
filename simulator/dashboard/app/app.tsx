import { type ComponentChildren, render } from "preact";
import { Empty, Guarded, PageHead } from "./components/page.tsx";
import { Shell } from "./components/shell.tsx";
import { listenToKeys } from "./core/keys.ts";
import { startLive } from "./core/live.ts";
import { followLinks, hrefTo, useRoute } from "./core/route.ts";
import { ConsolePage } from "./pages/console.tsx";
import { DocsPage } from "./pages/docs.tsx";
import { EndpointsPage } from "./pages/endpoints.tsx";
import { EventPage } from "./pages/event.tsx";
import { LivePage } from "./pages/live.tsx";
import { ReadingsPage } from "./pages/readings.tsx";
import { TriggerPage } from "./pages/trigger.tsx";
import { VerifyPage } from "./pages/verify.tsx";
import { WorldPage } from "./pages/world.tsx";

/** What is shown at which address; the parts in brackets are what it is shown of. */
type Params = Record<string, string | undefined>;
type Show = (params: Params, query: URLSearchParams) => ComponentChildren;

const LIVE = /^\/(?:deliveries\/(?<id>[^/]+))?$/;
const PAGES: [pattern: RegExp, show: Show][] = [
  [/^\/events\/(?<id>[^/]+)$/, ({ id = "" }) => <EventPage key={id} id={id} />],
  [/^\/endpoints(?:\/(?<id>[^/]+))?$/, ({ id }, query) => <EndpointsPage key={id} id={id} query={query} />],
  [/^\/trigger$/, (_, query) => <TriggerPage query={query} />],
  [
    /^\/world(?:\/(?<section>calls|voicemails|agents|organizations))?$/,
    ({ section }, query) => <WorldPage section={section} query={query} />,
  ],
  [/^\/console$/, (_, query) => <ConsolePage query={query} />],
  [/^\/docs$/, () => <DocsPage />],
  [/^\/readings$/, () => <ReadingsPage />],
  [/^\/verify$/, () => <VerifyPage />],
];

function App() {
  const { path, query } = useRoute();
  const live = LIVE.exec(path);
  // The list stays as it is while one opens what is in it.
  if (live !== null)
    return (
      <Shell path={path} isFull>
        <LivePage id={paramsOf(live)["id"]} query={query} />
      </Shell>
    );
  return (
    <Shell path={path}>
      <Guarded key={path}>{pageAt(path, query)}</Guarded>
    </Shell>
  );
}

function pageAt(path: string, query: URLSearchParams): ComponentChildren {
  for (const [pattern, show] of PAGES) {
    const match = pattern.exec(path);
    if (match !== null) return show(paramsOf(match), query);
  }
  return <NotFoundPage />;
}

function paramsOf({ groups = {} }: RegExpExecArray): Params {
  return Object.fromEntries(
    Object.entries(groups).map(([name, value]: [string, string | undefined]) => [
      name,
      value && decoded(value),
    ]),
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

followLinks();
listenToKeys();
startLive();
const root = document.querySelector("#app");
if (root !== null) render(<App />, root);

export function NotFoundPage() {
  return (
    <>
      <PageHead title="There is nothing here" />
      <Empty icon="search" title="No page has this address">
        <p>
          Everything that happens stands in <a href={hrefTo("/")}>Live</a>.
        </p>
      </Empty>
    </>
  );
}
