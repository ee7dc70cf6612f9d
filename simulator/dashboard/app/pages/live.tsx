import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../core/actions.ts";
import type { Filters as FilterValues } from "../core/filters.ts";
import { filterQuery, isFiltered, NO_FILTERS, readFilters, useHighlight } from "../core/filters.ts";
import { useLaterPages } from "../core/later.ts";
import { useLive } from "../core/live.ts";
import { NOTHING_PICKED, pick, picked } from "../core/picked.ts";
import { navigate, rememberList } from "../core/route.ts";
import type { Row } from "../core/rows.ts";
import { countOf } from "../core/words.ts";
import { Button } from "../components/button.tsx";
import { FeedEnd, HistoryChart, useHistory } from "../components/feed-around.tsx";
import { EmptyFeed, NothingMatches } from "../components/feed-empty.tsx";
import { Filters } from "../components/feed-filters.tsx";
import { PickedBar } from "../components/feed-picked.tsx";
import { FeedRow } from "../components/feed-row.tsx";
import { CauseSum, StateTabs, useSums, VerdictSum } from "../components/feed-sums.tsx";
import { Guarded, Loading, PageTitle, Problem } from "../components/page.tsx";
import { Resend } from "../components/resend.tsx";
import { type ListHandle, WindowedList } from "../components/windowed-list.tsx";

const ROW_HEIGHT = 40;
const TALL_ROW_HEIGHT = 48;

/** The live list of deliveries; the opened delivery at its right, or on narrow screens in its place. */
export function LivePage({ id, query }: { id?: string | undefined; query: URLSearchParams }) {
  const isWide = useMedia("(min-width: 64rem)");
  const filters = readFilters(query);
  const tail = filterQuery(filters);
  useEffect(() => {
    rememberList(`/${tail}`);
    // The selection belongs to the list in which it was made.
    picked.set(NOTHING_PICKED);
  }, [tail]);
  const isAlone = id === undefined;
  return (
    <div class={`live ${isAlone ? "" : "opened"}`}>
      {isAlone && query.has("resend") && (
        <Resend filters={filters} onClose={() => navigate(`/${tail}`, { replace: true })} />
      )}
      {(isWide || isAlone) && (
        <PageTitle className="visually-hidden" title="Live" namesWindow={isAlone} takesFocus={isAlone} />
      )}
      <ListPane filters={filters} openedId={id} />
      {!isAlone && (
        <section class="detail-pane" aria-label="Delivery">
          <Guarded key={id}>
            <Detail id={id} query={tail} isAlone={!isWide} />
          </Guarded>
        </section>
      )}
    </div>
  );
}

function Detail(props: { id: string; query: string; isAlone: boolean }) {
  const Delivery = useLaterPages()?.Delivery;
  return Delivery === undefined ? <Loading /> : <Delivery {...props} />;
}

type ListPaneProps = { filters: FilterValues; openedId: string | undefined };

function ListPane({ filters, openedId }: ListPaneProps) {
  const { feed, connection } = useLive();
  const [isPaused, setPaused] = useState(false);
  const [isAway, setAway] = useState(false);
  const isTall = useMedia("(max-width: 48rem)");
  const list = useRef<ListHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  const lastOpenedId = useRef<string | undefined>(undefined);
  const tail = filterQuery(filters);
  const { rows, held } = useHeldRows(feed.rows(), isPaused || isAway, tail);
  const listed = rows.flatMap(({ kind, key }) => (kind === "delivery" ? [key] : []));
  const history = useHistory(filters);
  const sums = useSums(filters);
  const { ids, isAll } = picked.use();
  const pickedIds = new Set(ids);
  useHighlight(filters.q);

  useEffect(() => {
    if (filterQuery(feed.list.filters) !== tail) void feed.load(filters);
  }, [tail]);
  // A closed delivery leaves the focus nowhere: its row takes it.
  useEffect(() => {
    const closedId = lastOpenedId.current;
    lastOpenedId.current = openedId;
    if (openedId !== undefined || document.activeElement !== document.body) return;
    list.current?.focus(rows.findIndex(({ key }) => key === closedId));
  }, [openedId]);

  /** Each choice is a step that Back takes back, and so is a search: not each of its letters. */
  function change(next: FilterValues) {
    const path = openedId === undefined ? "/" : `/deliveries/${encodeURIComponent(openedId)}`;
    const isTyping = next.q !== filters.q && next.q !== "" && filters.q !== "";
    navigate(`${path}${filterQuery(next)}`, { replace: isTyping });
  }
  function resend() {
    navigate(`/${tail === "" ? "?" : `${tail}&`}resend`);
  }
  function pickRow(id: string, isRange = false) {
    picked.set(pick(picked.get(), listed, id, isRange));
  }
  function showNewest() {
    setPaused(false);
    list.current?.toTop();
  }
  const pause = () => setPaused(!isPaused);
  function move(step: number) {
    const at = rows.findIndex((row) => row.kind === "delivery" && row.key === openedId);
    if (at === -1) return list.current?.focus(list.current.focusedIndex() + step);
    let next = at + step;
    while (rows[next] !== undefined && rows[next]?.kind !== "delivery") next += step;
    const row = rows[next];
    if (row === undefined) return;
    list.current?.focus(next);
    navigate(`/deliveries/${row.key}${tail}`, { replace: true });
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    "/": () => search.current?.focus(),
    p: pause,
    x: () => {
      const row = rows[list.current?.focusedIndex() ?? -1];
      if (row?.kind === "delivery") pickRow(row.key);
    },
    R: resend,
  });

  function showRow(index: number) {
    const row = rows[index];
    if (row === undefined) return null;
    const { key } = row;
    const isPicked = isAll || pickedIds.has(key);
    const onPick = (isRange: boolean) => pickRow(key, isRange);
    return <FeedRow {...{ row, query: tail, isChosen: key === openedId, isPicked, onPick }} />;
  }

  const shown = { filters, onChange: change, sums };
  const zoom = (since: string, until: string) => change({ ...filters, since, until, gave_up_since: "" });
  const { filters: asked, isLoaded, next, hasMore, error } = feed.list;
  const isEmpty = isLoaded && next === undefined && rows.length === 0 && !hasMore;
  return (
    <section class="list-pane" aria-label="Deliveries">
      <Filters {...shown} searchRef={search} isPaused={isPaused} onPause={pause} />
      <div class="sums flex wraps">
        <StateTabs {...shown} />
        <VerdictSum {...shown} />
      </div>
      {history && <HistoryChart history={history} onZoom={zoom} />}
      <CauseSum {...shown} />
      <PickedBar filters={filters} total={sums?.total} listed={listed} query={tail} onResend={resend} />
      <div class="feed" aria-busy={!isLoaded || next !== undefined}>
        {held > 0 && (
          <div class="held flex">
            <Button icon="live" kind="accent small" onClick={showNewest} words={countOf(held, "new row")} />
          </div>
        )}
        {!isLoaded && connection !== "lost" && error === undefined && <Loading />}
        {error !== undefined && rows.length === 0 && <Problem error={error} />}
        {isEmpty &&
          error === undefined &&
          (isFiltered(asked) ? <NothingMatches onClear={() => change(NO_FILTERS)} /> : <EmptyFeed />)}
        {isLoaded && !isEmpty && (
          <WindowedList
            handle={list}
            label="Deliveries, newest first"
            count={rows.length}
            rowHeight={isTall ? TALL_ROW_HEIGHT : ROW_HEIGHT}
            keyOf={(index) => rows[index]?.key ?? ""}
            row={showRow}
            onNearEnd={feed.loadOlder}
            onAway={setAway}
            foot={<FeedEnd onRetry={() => feed.load(filters)} />}
          />
        )}
      </div>
    </section>
  );
}

/**
 * While the user reads further down, or has paused, new rows wait, so that the visible rows stay in place; `key` names the
 * list: another list starts at its top.
 */
export function useHeldRows(all: Row[], isHeld: boolean, key: string): { rows: Row[]; held: number } {
  const top = useRef<{ first: string | undefined; key: string } | undefined>(undefined);
  if (!isHeld || top.current?.key !== key) top.current = { first: all[0]?.key, key };
  const { first } = top.current;
  const held = Math.max(0, isHeld ? all.findIndex((row) => row.key === first) : 0);
  return { rows: held === 0 ? all : all.slice(held), held };
}

/** Whether a media query holds, now and later. */
export function useMedia(query: string): boolean {
  const [isMatching, setMatching] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const update = () => setMatching(media.matches);
    update();
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [query]);
  return isMatching;
}
