import { type ComponentChildren, render } from "preact";
import { Empty, Guarded, PageHead } from "./components/page.tsx";
import { Shell } from "./components/shell.tsx";
import { listenToKeys } from "./core/actions.ts";
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

type Show = (part: string | undefined, query: URLSearchParams) => ComponentChildren;

const showLive: Show = (id, query) => <LivePage id={id} query={query} />;
/** What is shown at which address; the part in brackets is what it is shown of. */
const PAGES: [pattern: RegExp, show: Show][] = [
  [/^\/(?:deliveries\/([^/]+))?$/, showLive],
  [/^\/events\/([^/]+)$/, (id = "") => <EventPage key={id} id={id} />],
  [/^\/endpoints(?:\/([^/]+))?$/, (id, query) => <EndpointsPage key={id} id={id} query={query} />],
  [/^\/trigger$/, (_, query) => <TriggerPage query={query} />],
  [
    /^\/world(?:\/(calls|voicemails|agents|organizations))?$/,
    (section, query) => <WorldPage section={section} query={query} />,
  ],
  [/^\/console$/, (_, query) => <ConsolePage query={query} />],
  [/^\/docs$/, () => <DocsPage />],
  [/^\/readings$/, () => <ReadingsPage />],
  [/^\/verify$/, () => <VerifyPage />],
  [/^/, () => <NotFoundPage />],
];

function App() {
  const { path, query } = useRoute();
  for (const [pattern, show] of PAGES) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const page = show(decoded(match[1]), query);
    // The list stays as it is while one opens what is in it.
    const isFull = show === showLive;
    return (
      <Shell path={path} isFull={isFull}>
        {isFull ? page : <Guarded key={path}>{page}</Guarded>}
      </Shell>
    );
  }
  return null;
}

function decoded(part: string | undefined): string | undefined {
  try {
    return part && decodeURIComponent(part);
  } catch {
    return part;
  }
}

function NotFoundPage() {
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

followLinks();
listenToKeys();
startLive();
const root = document.querySelector("#app");
if (root !== null) render(<App />, root);
