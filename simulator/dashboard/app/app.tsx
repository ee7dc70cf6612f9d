import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Empty, Guarded, Loading, PageHead } from "./components/page.tsx";
import { Shell } from "./components/shell.tsx";
import { listenToKeys } from "./core/actions.ts";
import { useLaterPages } from "./core/later.ts";
import { startLive } from "./core/live.ts";
import { followLinks, hrefTo, useRoute } from "./core/route.ts";
import { LivePage } from "./pages/live.tsx";

function App() {
  // After the parts of the page have requested their data.
  useEffect(startLive, []);
  const { path, query } = useRoute();
  const [isList, id] = /^\/(?:deliveries\/([^/]+))?$/.exec(path) ?? [];
  return (
    <Shell path={path} isFull={isList !== undefined}>
      {isList === undefined ? (
        <Guarded key={path}>
          <LaterPage path={path} query={query} />
        </Guarded>
      ) : (
        // The list stays unchanged while the user opens its entries.
        <LivePage id={decoded(id)} query={query} />
      )}
    </Shell>
  );
}

function LaterPage({ path, query }: { path: string; query: URLSearchParams }) {
  const pages = useLaterPages()?.pages;
  if (pages === undefined) return <Loading />;
  for (const [pattern, show] of pages) {
    const match = pattern.exec(path);
    if (match !== null) return show(decoded(match[1]), query);
  }
  return (
    <>
      <PageHead title="Not found" />
      <Empty icon="search" title="This page does not exist">
        <p>
          See all deliveries in <a href={hrefTo("/")}>Live</a>.
        </p>
      </Empty>
    </>
  );
}

function decoded(part: string | undefined): string | undefined {
  try {
    return part && decodeURIComponent(part);
  } catch {
    return part;
  }
}

followLinks();
listenToKeys();
const root = document.querySelector("#app");
if (root !== null) render(<App />, root);
