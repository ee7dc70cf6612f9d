import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useApiPages } from "../core/load.ts";
import { hrefTo, navigate } from "../core/route.ts";
import type { Organization, Resources } from "../core/types.ts";
import { countOf, fullTimeOf } from "../core/words.ts";
import { Button, Segments } from "./button.tsx";
import { BodyView } from "./code-view.tsx";
import { Dialog } from "./dialog.tsx";
import { Empty, Loading, Problem } from "./page.tsx";

/** A kind of thing that the REST API lists: how one is shown in a row, and what opens, each in words. */
export type Kind<Path extends keyof Resources> = {
  section: string;
  path: Path;
  /** What it can be narrowed by, and to what. */
  filter?: string;
  choices?: string[];
  /** Who or what it is, what it says, and what stands beside that. */
  rowOf: (item: Resources[Path]) => [name: string, text: string, side: string];
  titleOf: (item: Resources[Path]) => string;
  Details?: (props: { item: Resources[Path]; organization: Organization }) => ComponentChildren;
};

const MOST_SEARCHED = 2_000;

type ListProps<Path extends keyof Resources> = {
  kind: Kind<Path>;
  organization: Organization;
  openedId: string | null;
};

/** The things of one kind that an organization has, newest first; the one that is open is in the address. */
export function WorldList<Path extends keyof Resources>({ kind, organization, openedId }: ListProps<Path>) {
  const { section, path, filter = "", choices = [], rowOf, titleOf, Details } = kind;
  const [choice, setChoice] = useState("");
  const pages = useApiPages(path, filter === "" ? {} : { [filter]: choice }, organization.api_key);
  const { items, hasMore, isLoaded, error, loadMore } = pages;
  const opened = items.find(({ id }) => id === openedId);
  const open = (id?: string) => {
    const tail = new URLSearchParams({ org: organization.id, ...(id !== undefined && { open: id }) });
    navigate(`/world/${section}?${tail.toString()}`, { replace: id === undefined });
  };
  // The API has no way to ask for one of them, so a linked one is looked for page by page.
  useEffect(() => {
    const isMissing = openedId !== null && opened === undefined;
    if (isMissing && hasMore && items.length < MOST_SEARCHED) void loadMore();
  }, [openedId, opened, items.length]);

  if (error) return <Problem error={error} />;
  return (
    <>
      {choices.length > 0 && (
        <Segments
          label={filter}
          value={choice}
          options={[["", "All"], ...choices.map((one) => [one, one] as const)]}
          onChange={setChoice}
        />
      )}
      {!isLoaded && <Loading />}
      {isLoaded && items.length === 0 && (
        <Empty icon="world" title="There is none">
          <p>
            Choose another filter, or <a href={hrefTo("/trigger")}>trigger an event</a>: the world changes
            with it.
          </p>
        </Empty>
      )}
      {items.length > 0 && (
        <>
          <ul class="rows box">
            {items.map((item) => (
              <li key={item.id}>
                <WorldRow words={rowOf(item)} at={item.created_at} onOpen={() => open(item.id)} />
              </li>
            ))}
          </ul>
          <p class="feed-end muted">
            {hasMore ? (
              <Button onClick={loadMore} words="Load the next 50" />
            ) : (
              `${countOf(items.length, "item")}: that is all.`
            )}
          </p>
        </>
      )}
      {opened && (
        <Dialog title={titleOf(opened)} onClose={() => open()} wide>
          {Details && <Details item={opened} organization={organization} />}
          <BodyView text={JSON.stringify(opened)} label="As the REST API answers it" />
        </Dialog>
      )}
    </>
  );
}

type RowProps = { words: [name: string, text: string, side: string]; at: string; onOpen: () => void };

/** One thing in a line, which opens it. */
function WorldRow({ words: [name, text, side], at, onOpen }: RowProps) {
  return (
    <button class="row edge" onClick={onOpen}>
      <b class="foreign">{name}</b> <span class="muted one-line foreign">{text.replaceAll("\n", " · ")}</span>{" "}
      <span class="row-side muted foreign">{side}</span>{" "}
      <time class="muted nowrap" datetime={at}>
        {fullTimeOf(at)}
      </time>
    </button>
  );
}
