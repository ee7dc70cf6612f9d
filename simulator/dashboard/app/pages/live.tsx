import { useEffect, useRef, useState } from "preact/hooks";
import { DeliveryView } from "../components/delivery-view.tsx";
import { Loading, Problem } from "../components/empty.tsx";
import { EmptyFeed, NothingMatches } from "../components/feed-empty.tsx";
import { Filters, StateTabs } from "../components/feed-filters.tsx";
import { FeedEnd, LatestAttempt } from "../components/feed-foot.tsx";
import { FeedRow } from "../components/feed-row.tsx";
import { Guarded } from "../components/guarded.tsx";
import { Icon } from "../components/icon.tsx";
import { PageTitle } from "../components/page.tsx";
import { Recover } from "../components/recover.tsx";
import { VerdictSum } from "../components/verdict-sum.tsx";
import { type ListHandle, WindowedList } from "../components/windowed-list.tsx";
import { filterQuery, type Filters as FilterValues, NO_FILTERS, readFilters } from "../core/filters.ts";
import { countOf } from "../core/format.ts";
import { useHeldRows } from "../core/held-rows.ts";
import { useKeys } from "../core/keys.ts";
import { useLive } from "../core/live.ts";
import { useMedia } from "../core/media.ts";
import { navigate, rememberList } from "../core/route.ts";

const ROW_HEIGHT = 40;
const TALL_ROW_HEIGHT = 48;

/** Everything that is sent, as it happens; at its right the delivery that was opened, on narrow screens in its place. */
export function LivePage({ id, query }: { id?: string | undefined; query: URLSearchParams }) {
  const isWide = useMedia("(min-width: 64rem)");
  const filters = readFilters(query);
  const tail = filterQuery(filters);
  useEffect(() => rememberList(`/${tail}`), [tail]);
  const isRecovering = id === undefined && query.has("recover");
  return (
    <div class={`live ${id === undefined ? "" : "opened"}`}>
      {isRecovering && <Recover filters={filters} onClose={() => navigate(`/${tail}`, { replace: true })} />}
      {(isWide || id === undefined) && (
        <ListPane filters={filters} openedId={id} isAlone={id === undefined} />
      )}
      {id !== undefined && (
        <section class="detail-pane" aria-label="Delivery">
          <Guarded key={id}>
            <DeliveryView id={id} query={tail} isAlone={!isWide} />
          </Guarded>
        </section>
      )}
    </div>
  );
}

function ListPane({
  filters,
  openedId,
  isAlone,
}: {
  filters: FilterValues;
  openedId: string | undefined;
  isAlone: boolean;
}) {
  const { feed, connection, clock } = useLive();
  const [isPaused, setPaused] = useState(false);
  const [isAway, setAway] = useState(false);
  const isTall = useMedia("(max-width: 48rem)");
  const list = useRef<ListHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  const tail = filterQuery(filters);
  const { rows, held } = useHeldRows(feed.rows(), isPaused || isAway, tail);

  useEffect(() => {
    if (filterQuery(feed.filters) !== tail) void feed.load(filters);
  }, [tail]);

  function change(next: FilterValues) {
    const path = openedId === undefined ? "/" : `/deliveries/${encodeURIComponent(openedId)}`;
    navigate(`${path}${filterQuery(next)}`, { replace: true });
  }
  function recover() {
    navigate(`/${tail === "" ? "?" : `${tail}&`}recover`);
  }
  function showNewest() {
    setPaused(false);
    list.current?.toTop();
  }
  function move(step: number) {
    const at = rows.findIndex((row) => row.kind === "delivery" && row.key === openedId);
    if (at === -1) {
      list.current?.focus(list.current.focusedIndex() + step);
      return;
    }
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
    p: () => setPaused(!isPaused),
    R: recover,
  });

  const isEmpty = feed.isLoaded && !feed.isChanging && rows.length === 0 && !feed.hasMore;
  return (
    <section class="list-pane" aria-label="Deliveries">
      <PageTitle className="visually-hidden" title="Live" namesWindow={isAlone} takesFocus={isAlone} />
      <Filters
        filters={filters}
        onChange={change}
        searchRef={search}
        isPaused={isPaused}
        onPause={() => setPaused(!isPaused)}
      />
      <StateTabs filters={filters} onChange={change}>
        {clock !== undefined && clock.lost > 0 && (
          <button type="button" class="button small" title="Send again what gave up (R)" onClick={recover}>
            <Icon name="resend" size={14} />
            Recover…
          </button>
        )}
      </StateTabs>
      <VerdictSum filters={filters} onChange={change} />
      <div class="feed" aria-busy={!feed.isLoaded || feed.isChanging}>
        {held > 0 && (
          <div class="held">
            <button type="button" class="button accent small" onClick={showNewest}>
              <Icon name="live" size={14} />
              {countOf(held, "new row")}
            </button>
          </div>
        )}
        {!feed.isLoaded && connection !== "lost" && feed.error === undefined && <Loading />}
        {feed.error !== undefined && rows.length === 0 && <Problem error={feed.error} />}
        {isEmpty &&
          feed.error === undefined &&
          (feed.isFiltered ? <NothingMatches onClear={() => change(NO_FILTERS)} /> : <EmptyFeed />)}
        {feed.isLoaded && !isEmpty && (
          <WindowedList
            handle={list}
            label="Deliveries, newest first"
            count={rows.length}
            rowHeight={isTall ? TALL_ROW_HEIGHT : ROW_HEIGHT}
            keyOf={(index) => rows[index]?.key ?? ""}
            row={(index) => {
              const row = rows[index];
              return row && <FeedRow row={row} query={tail} isChosen={row.key === openedId} />;
            }}
            onNearEnd={feed.loadOlder}
            onAway={setAway}
            foot={<FeedEnd onRetry={() => feed.load(filters)} />}
          />
        )}
      </div>
      <LatestAttempt query={tail} />
    </section>
  );
}
