import { Empty } from "../components/empty.tsx";
import { PageHead } from "../components/page.tsx";
import { hrefTo } from "../core/route.ts";

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
