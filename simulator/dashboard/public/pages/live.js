import { useEffect, useRef, useState } from "preact/hooks";
import { DeliveryView } from "../components/delivery-view.js";
import { Loading, Problem } from "../components/empty.js";
import { EmptyFeed, NothingMatches } from "../components/feed-empty.js";
import { Filters, StateTabs } from "../components/feed-filters.js";
import { FeedEnd, LatestAttempt } from "../components/feed-foot.js";
import { FeedRow } from "../components/feed-row.js";
import { Guarded } from "../components/guarded.js";
import { Icon } from "../components/icon.js";
import { PageTitle } from "../components/page.js";
import { VerdictSum } from "../components/verdict-sum.js";
import { WindowedList } from "../components/windowed-list.js";
import { resendAll } from "../core/actions.js";
import { filterQuery, NO_FILTERS, readFilters } from "../core/filters.js";
import { countOf } from "../core/format.js";
import { useHeldRows } from "../core/held-rows.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { useMedia } from "../core/media.js";
import { navigate, rememberList } from "../core/route.js";

const ROW_HEIGHT = 40;
const TALL_ROW_HEIGHT = 48;

/** Everything that is sent, as it happens; at its right the delivery that was opened, on narrow screens in its place. */
export function LivePage({ id, query }) {
  const isWide = useMedia("(min-width: 64rem)");
  const filters = readFilters(query);
  const tail = filterQuery(filters);
  useEffect(() => rememberList(`/${tail}`), [tail]);
  return html`<div class=${`live ${id === undefined ? "" : "opened"}`}>
    ${(isWide || id === undefined) && html`<${ListPane} filters=${filters} openedId=${id} isAlone=${id === undefined} />`}
    ${
      id !== undefined &&
      html`<section class="detail-pane" aria-label="Delivery">
        <${Guarded} key=${id}><${DeliveryView} id=${id} query=${tail} isAlone=${!isWide} /><//>
      </section>`
    }
  </div>`;
}

function ListPane({ filters, openedId, isAlone }) {
  const { feed, connection } = useLive();
  const [isPaused, setPaused] = useState(false);
  const [isAway, setAway] = useState(false);
  const isTall = useMedia("(max-width: 48rem)");
  const list = useRef();
  const search = useRef();
  const tail = filterQuery(filters);
  const { rows, held } = useHeldRows(feed.rows(), isPaused || isAway, tail);

  useEffect(() => {
    if (filterQuery(feed.filters) !== tail) void feed.load(filters);
  }, [tail]);

  function change(next) {
    const path = openedId === undefined ? "/" : `/deliveries/${encodeURIComponent(openedId)}`;
    navigate(`${path}${filterQuery(next)}`, { replace: true });
  }
  function showNewest() {
    setPaused(false);
    list.current?.toTop();
  }
  function move(step) {
    const at = rows.findIndex((row) => row.kind === "delivery" && row.key === openedId);
    if (at === -1) {
      list.current?.focus(list.current.focusedIndex() + step);
      return;
    }
    let next = at + step;
    while (rows[next] !== undefined && rows[next].kind !== "delivery") next += step;
    if (rows[next] === undefined) return;
    list.current?.focus(next);
    navigate(`/deliveries/${rows[next].key}${tail}`, { replace: true });
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    "/": () => search.current?.focus(),
    p: () => setPaused(!isPaused),
  });

  const isEmpty = feed.isLoaded && !feed.isChanging && rows.length === 0 && !feed.hasMore;
  return html`<section class="list-pane" aria-label="Deliveries">
    <${PageTitle} className="visually-hidden" title="Live" namesWindow=${isAlone} takesFocus=${isAlone} />
    <${Filters}
      filters=${filters}
      onChange=${change}
      searchRef=${search}
      isPaused=${isPaused}
      onPause=${() => setPaused(!isPaused)}
    />
    <${StateTabs} filters=${filters} onChange=${change}>
      ${
        filters.state === "dead" &&
        rows.length > 0 &&
        html`<button
          type="button"
          class="button small"
          onClick=${() => resendAll(filters.endpoint || undefined)}
        >
          <${Icon} name="resend" size=${14} />Resend all
        </button>`
      }
    <//>
    <${VerdictSum} filters=${filters} onChange=${change} />
    <div class="feed" aria-busy=${String(!feed.isLoaded || feed.isChanging)}>
      ${
        held > 0 &&
        html`<div class="held">
          <button type="button" class="button accent small" onClick=${showNewest}>
            <${Icon} name="live" size=${14} />${countOf(held, "new row")}
          </button>
        </div>`
      }
      ${!feed.isLoaded && connection !== "lost" && feed.error === undefined && html`<${Loading} />`}
      ${feed.error !== undefined && rows.length === 0 && html`<${Problem} error=${feed.error} />`}
      ${isEmpty && feed.error === undefined && (feed.isFiltered ? html`<${NothingMatches} onClear=${() => change(NO_FILTERS)} />` : html`<${EmptyFeed} />`)}
      ${
        feed.isLoaded &&
        !isEmpty &&
        html`<${WindowedList}
          handle=${list}
          label="Deliveries, newest first"
          count=${rows.length}
          rowHeight=${isTall ? TALL_ROW_HEIGHT : ROW_HEIGHT}
          keyOf=${(index) => rows[index].key}
          row=${(index) => html`<${FeedRow} row=${rows[index]} query=${tail} isChosen=${rows[index].key === openedId} />`}
          onNearEnd=${feed.loadOlder}
          onAway=${setAway}
          foot=${html`<${FeedEnd} onRetry=${() => feed.load(filters)} />`}
        />`
      }
    </div>
    <${LatestAttempt} query=${tail} />
  </section>`;
}
