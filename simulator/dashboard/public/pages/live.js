import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { EmptyFeed, NothingMatches } from "../components/feed-empty.js";
import { DeliveryRow, EventRow, FeedHead } from "../components/feed-rows.js";
import { Filters, filterOf, readFilters, writeFilters } from "../components/feed-filters.js";
import { Loading } from "../components/empty.js";
import { Icon } from "../components/icon.js";
import { PageHead } from "../components/page.js";
import { WindowedList } from "../components/windowed-list.js";
import { countOf, numberOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { live, loadOlder, useLive } from "../core/live.js";
import { useMedia } from "../core/media.js";
import { attempt } from "../core/toasts.js";

const ROW_HEIGHT = 61;
const NARROW_ROW_HEIGHT = 93;
const HELD_BELOW_PX = 120;

/** Everything that is sent, as it happens. */
export function LivePage({ query }) {
  const { feed, clock, connection } = useLive();
  const [filters, setFilters] = useState(() => readFilters(query));
  const [isPaused, setPaused] = useState(false);
  const isScrolled = useScrolled();
  const isNarrow = useMedia("(max-width: 60rem)");
  const list = useRef();
  const search = useRef();
  const wanted = useMemo(() => filterOf(filters, (id) => live.endpoints?.get(id)), [filters, live.endpoints]);

  const all = feed.rows(wanted);
  const { rows, held } = useHeld(all, isPaused || isScrolled, filters);
  const hasFilters = Object.values(filters).some((value) => value !== "");

  function change(next) {
    setFilters(next);
    writeFilters(next);
  }
  function showNewest() {
    setPaused(false);
    scrollTo({ top: 0 });
  }
  useKeys({
    j: () => list.current?.focus(list.current.focusedIndex() + 1),
    k: () => list.current?.focus(list.current.focusedIndex() - 1),
    "/": () => search.current?.focus(),
    p: () => setPaused(!isPaused),
  });
  // A filter that few deliveries pass needs more of them to fill the screen.
  useEffect(() => {
    if (feed.hasMore && rows.length < 30) void attempt(loadOlder);
  }, [rows.length, feed.hasMore, feed.isLoading]);

  const counts = clock?.deliveries;
  return html`<${PageHead} title="Live" lead="Every event and its deliveries, as they happen.">
      ${counts && html`<${Counts} counts=${counts} filters=${filters} onChange=${change} />`}
    <//>
    <${Filters}
      filters=${filters}
      onChange=${change}
      searchRef=${search}
      isPaused=${isPaused}
      onPause=${() => setPaused(!isPaused)}
    />
    <div class="feed" aria-busy=${String(!feed.isLoaded)}>
      ${
        held > 0 &&
        html`<div class="held">
          <button type="button" class="button accent" onClick=${showNewest}>
            <${Icon} name="live" size=${15} />${countOf(held, "new row")}
          </button>
        </div>`
      }
      ${!feed.isLoaded && connection !== "lost" && html`<${Loading} />`}
      ${feed.isLoaded && rows.length === 0 && !feed.hasMore && (hasFilters ? html`<${NothingMatches} onClear=${() => change(readFilters(new URLSearchParams()))} />` : html`<${EmptyFeed} />`)}
      ${
        rows.length > 0 &&
        html`<${FeedHead} />
          <${WindowedList}
            handle=${list}
            label="Deliveries, newest first"
            count=${rows.length}
            rowHeight=${isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
            keyOf=${(index) => rows[index].delivery?.id ?? rows[index].event.id}
            row=${(index) => (rows[index].delivery ? html`<${DeliveryRow} delivery=${rows[index].delivery} />` : html`<${EventRow} event=${rows[index].event} />`)}
            onNearEnd=${loadMore}
          />
          <p class="feed-foot muted">
            ${feed.hasMore ? "Loading older deliveries…" : `${countOf(rows.length, "row")}: that is all.`}
          </p>`
      }
    </div>`;
}

function loadMore() {
  if (live.feed.hasMore) void attempt(loadOlder);
}

function Counts({ counts, filters, onChange }) {
  const toggle = (state) => onChange({ ...filters, state: filters.state === state ? "" : state });
  const one = (state, tone, words) =>
    html`<button
      type="button"
      class=${`count ${tone}`}
      aria-pressed=${String(filters.state === state)}
      onClick=${() => toggle(state)}
    >
      <b>${numberOf(counts[state])}</b> ${words}
    </button>`;
  return html`<div class="counts" role="group" aria-label="Deliveries by state">
    ${one("attempting", "wait", "attempting")} ${one("delivered", "ok", "delivered")}
    ${one("dead", "bad", "dead")}
  </div>`;
}

/** While one reads further down, or has paused, new rows wait: what one looks at stays where it is. */
function useHeld(all, isHeld, filters) {
  const top = useRef();
  const first = all[0]?.delivery?.id ?? all[0]?.event.id;
  if (!isHeld || top.current?.filters !== filters) top.current = { id: first, filters };
  if (!isHeld || first === top.current.id) return { rows: all, held: 0 };
  const held = all.findIndex((row) => (row.delivery?.id ?? row.event.id) === top.current.id);
  return held <= 0 ? { rows: all, held: 0 } : { rows: all.slice(held), held };
}

function useScrolled() {
  const [isScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const update = () => setScrolled(scrollY > HELD_BELOW_PX);
    addEventListener("scroll", update, { passive: true });
    return () => removeEventListener("scroll", update);
  }, []);
  return isScrolled;
}
