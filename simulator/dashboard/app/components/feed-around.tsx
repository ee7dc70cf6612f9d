import { apiQuery, type Filters } from "../core/filters.ts";
import { useLive } from "../core/live.ts";
import { useGot } from "../core/load.ts";
import type { History } from "../core/types.ts";
import { countOf, dayAndTimeOf, millisecondsOf, numberOf } from "../core/words.ts";
import { Button } from "./button.tsx";

/** The end of the list: whether there is more. */
export function FeedEnd({ onRetry }: { onRetry: () => unknown }) {
  const { feed } = useLive();
  const { error, hasMore } = feed.list;
  return (
    <p class="feed-end faint" role={hasMore && error === undefined ? "status" : undefined}>
      {error?.message ??
        (hasMore ? "Searching older deliveries…" : `${countOf(feed.rows().length, "row")} in all.`)}{" "}
      {error !== undefined && <Button kind="small" onClick={onRetry} words="Try again" />}
    </p>
  );
}

const AGAIN_AFTER_MS = 2_000;
const [WIDTH, HEIGHT] = [600, 32];

/** Sums over the period, endpoint and type of the filters; undefined until known. */
export function useHistory({ since, until, endpoint, type }: Filters) {
  const query = apiQuery({ since, until, endpoint, type }).replace("&", "?");
  const { clockChanges: again } = useLive();
  return useGot(`/history${query}`, { again, afterMs: AGAIN_AFTER_MS }).value;
}

type HistoryChartProps = { history: History; onZoom: (since: string, until: string) => void };

/** Acknowledged and failed attempts by slot; pressing a slot makes it the period of the list. */
export function HistoryChart({ history, onZoom }: HistoryChartProps) {
  const { slots, slot_seconds: seconds } = history;
  const most = Math.max(1, ...slots.map(({ sent }) => sent));
  const width = WIDTH / slots.length;
  const sum = (name: "sent" | "acknowledged" | "failed") => slots.reduce((all, slot) => all + slot[name], 0);
  const longest = Math.max(0, ...slots.map((slot) => slot.longest_ms ?? 0));
  const words = `${countOf(sum("sent"), "attempt")}: ${numberOf(sum("acknowledged"))} acknowledged, ${numberOf(sum("failed"))} failed; the slowest answer took ${millisecondsOf(longest)}`;
  return (
    <figure class="history flex">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
        {slots.map(({ started_at: at, sent, acknowledged, failed }, index) => {
          const [good, bad] = [(acknowledged / most) * HEIGHT, (failed / most) * HEIGHT];
          const until = new Date(Date.parse(at) + seconds * 1000).toISOString();
          const bar = { x: index * width, width: Math.max(1, width - 1) };
          return (
            <g key={at} onClick={() => onZoom(at, until)}>
              <title>{`${dayAndTimeOf(at)}: ${sent} sent, ${acknowledged} acknowledged, ${failed} failed`}</title>
              <rect class="slot-room" fill="transparent" x={index * width} width={width} height={HEIGHT} />
              <rect class="bar ok" {...bar} y={HEIGHT - good} height={good} />
              <rect class="bar failed" {...bar} y={HEIGHT - good - bad} height={bad} />
            </g>
          );
        })}
      </svg>
      <figcaption class="tiny faint" aria-hidden="true">
        <span title={words}>Since {dayAndTimeOf(slots[0]?.started_at ?? 0)}</span>
        <span class="legend flex">
          <i class="ok" /> acknowledged <i class="failed" /> failed
        </span>
      </figcaption>
    </figure>
  );
}
