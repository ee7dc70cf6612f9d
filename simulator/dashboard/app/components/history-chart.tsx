import { control } from "../core/api.ts";
import { apiQuery, type Filters } from "../core/filters.ts";
import { useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import type { History } from "../core/types.ts";
import { countOf, dayAndTimeOf, millisecondsOf, numberOf } from "../core/words.ts";

const AGAIN_AFTER_MS = 2_000;
const [WIDTH, HEIGHT] = [600, 56];
/** An answer at the limit of ten seconds stands at the top. */
const LONGEST = Math.log10(10_000);

/** What was sent over the period of the filters, to the endpoint and of the type that they name; undefined until it is known. */
export function useHistory({ since, until, endpoint, type }: Filters, isWanted: boolean) {
  const query = apiQuery({ since, until, endpoint, type }).replace("&", "?");
  const again = JSON.stringify(useLive().clock?.deliveries);
  const { value } = useLoaded(
    `history ${isWanted} ${query}`,
    async () => (isWanted ? control.get(`/history${query}`) : undefined),
    { again, afterMs: AGAIN_AFTER_MS },
  );
  return value;
}

type HistoryChartProps = { history: History; onZoom: (since: string, until: string) => void };

/**
 * What was acknowledged and what failed, slot by slot, with how long the slowest answer of each took; a slot that is
 * pressed becomes the period of the list.
 */
export function HistoryChart({ history, onZoom }: HistoryChartProps) {
  const { slots, slot_seconds: seconds } = history;
  const most = Math.max(1, ...slots.map(({ sent }) => sent));
  const width = WIDTH / slots.length;
  const sum = (name: "sent" | "acknowledged" | "failed") => slots.reduce((all, slot) => all + slot[name], 0);
  const longest = Math.max(0, ...slots.map((slot) => slot.longest_ms ?? 0));
  const words = `${countOf(sum("sent"), "attempt")}: ${numberOf(sum("acknowledged"))} acknowledged, ${numberOf(sum("failed"))} failed; the slowest answer took ${millisecondsOf(longest)}`;
  const line = slots.map(({ longest_ms: ms }, index) => {
    const share = ms === null ? 0 : Math.min(1, Math.log10(Math.max(1, ms)) / LONGEST);
    return `${(index + 0.5) * width},${HEIGHT - share * HEIGHT}`;
  });
  return (
    <figure class="history">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
        {slots.map(({ started_at: at, sent, acknowledged, failed }, index) => {
          const [good, bad] = [(acknowledged / most) * HEIGHT, (failed / most) * HEIGHT];
          const until = new Date(Date.parse(at) + seconds * 1000).toISOString();
          const bar = { x: index * width, width: Math.max(1, width - 1) };
          return (
            <g key={at} onClick={() => onZoom(at, until)}>
              <title>{`${dayAndTimeOf(at)}: ${sent} sent, ${acknowledged} acknowledged, ${failed} failed`}</title>
              <rect class="slot-room" x={index * width} width={width} height={HEIGHT} />
              <rect class="bar ok" {...bar} y={HEIGHT - good} height={good} />
              <rect class="bar failed" {...bar} y={HEIGHT - good - bad} height={bad} />
            </g>
          );
        })}
        <polyline points={line.join(" ")} />
      </svg>
      <figcaption class="flex between small faint">
        <span class="nowrap">{dayAndTimeOf(slots[0]?.started_at ?? 0)}</span>{" "}
        <span class="one-line">{words}</span>
      </figcaption>
    </figure>
  );
}
