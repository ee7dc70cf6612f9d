import type { ComponentChildren } from "preact";
import type { ApiPages } from "../core/load.ts";
import { hrefTo } from "../core/route.ts";
import { countOf } from "../core/words.ts";
import { Button } from "./button.tsx";
import { BodyView } from "./code-view.tsx";
import { Empty, Loading, Problem } from "./page.tsx";

type PagedListProps = { pages: ApiPages<unknown>; nothing: string; children: ComponentChildren };

/** A paged list in each of its states. */
export function PagedList({ pages, nothing, children }: PagedListProps) {
  if (pages.error) return <Problem error={pages.error} />;
  if (!pages.isLoaded) return <Loading />;
  if (pages.items.length > 0) return <>{children}</>;
  return (
    <Empty icon="world" title={nothing}>
      <p>
        Choose another filter, or <a href={hrefTo("/trigger")}>trigger an event</a>: the world changes with
        it.
      </p>
    </Empty>
  );
}

export function MoreButton({ pages }: { pages: ApiPages<unknown> }) {
  if (!pages.hasMore)
    return <p class="feed-end muted">{countOf(pages.items.length, "item")}: that is all.</p>;
  return (
    <p class="feed-end">
      <Button onClick={pages.loadMore} words="Load the next 50" />
    </p>
  );
}

/** The resource as the REST API answers it. */
export function ObjectDetails({ object }: { object: { object: string } }) {
  return (
    <details class="object-details">
      <summary>As the REST API answers it</summary>
      <BodyView text={JSON.stringify(object)} label={`The ${object.object}`} />
    </details>
  );
}
