import { useRef, useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { apiQuery, type Filters } from "../core/filters.ts";
import { useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import { hrefTo } from "../core/route.ts";
import type { Row } from "../core/rows.ts";
import { attemptTone } from "../core/schedule.ts";
import { toast, useAttempt } from "../core/toasts.ts";
import type { History } from "../core/types.ts";
import {
  countOf,
  dayAndTimeOf,
  lineOf,
  millisecondsOf,
  numberOf,
  outcomeWord,
  toggled,
} from "../core/words.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { CheckBox } from "./field.tsx";

/** What stands below the last row: whether there is more, or that this is all. */
export function FeedEnd({ onRetry }: { onRetry: () => unknown }) {
  const { feed } = useLive();
  const { error, hasMore } = feed.list;
  return (
    <p class="feed-end faint" role={hasMore && error === undefined ? "status" : undefined}>
      {error?.message ??
        (hasMore
          ? "Searching older deliveries…"
          : `${countOf(feed.rows().length, "row")}: that is all.`)}{" "}
      {error !== undefined && <Button kind="small" onClick={onRetry} words="Try again" />}
    </p>
  );
}

/** The attempt that ended last, wherever in the list it may stand: a retry of an old delivery is far below. */
export function LatestAttempt({ query }: { query: string }) {
  const delivery = useLive().feed.latest();
  const made = delivery?.attempts.findLast(({ ended_at: endedAt }) => endedAt !== null);
  if (delivery === undefined || made === undefined) return null;
  return (
    <a class="latest edge flex muted small" href={hrefTo(`/deliveries/${delivery.id}${query}`)}>
      <span class="faint">Latest</span>{" "}
      <span class={`outcome ${attemptTone(made)}`}>{outcomeWord(made)}</span>{" "}
      <span class="one-line foreign">
        attempt {made.number} · {lineOf(delivery)}
      </span>
    </a>
  );
}

/** Rows that were chosen: each by its mark or by `x`, a range by the Shift key. */
export function usePicked(rows: readonly Row[]) {
  const [ids, setIds] = useState<readonly string[]>([]);
  const last = useRef(-1);
  const idsOf = (from: number, to: number) =>
    rows.slice(from, to + 1).flatMap(({ kind, key }) => (kind === "delivery" ? [key] : []));

  function toggle(index: number) {
    const [id] = idsOf(index, index);
    if (index < 0 || id === undefined) return;
    last.current = index;
    setIds(toggled(ids, id));
  }
  function click(event: MouseEvent) {
    if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey) return;
    const index = Number(event.target.closest<HTMLElement>("[data-index]")?.dataset["index"] ?? -1);
    if (index < 0 || (!event.shiftKey && event.target.closest(".verdict-mark") === null)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.shiftKey || last.current < 0) return toggle(index);
    const range = idsOf(Math.min(last.current, index), Math.max(last.current, index));
    setIds([...new Set([...ids, ...range])]);
  }
  return { ids, toggle, click, clear: () => setIds([]) };
}

/** What can be done with the rows that were chosen. */
export function PickedBar({ ids, clear }: { ids: readonly string[]; clear: () => void }) {
  const [busy, run] = useAttempt();
  async function resend() {
    let sent = 0;
    for (const id of ids)
      if (await run("resend", () => control.post(`/deliveries/${encodeURIComponent(id)}/resend`))) sent += 1;
    toast("ok", `${countOf(sent, "delivery", "deliveries")} sent again, with six attempts each.`);
    clear();
  }
  return (
    <div class="latest flex muted small" role="group" aria-label="Chosen deliveries">
      <b>{countOf(ids.length, "delivery", "deliveries")} chosen</b> <span class="spacer" />
      <Button
        icon="resend"
        kind="small"
        busy={busy !== undefined}
        disabled={busy !== undefined}
        onClick={resend}
        words="Send again"
      />
      <Button kind="small" onClick={clear} words="Clear" />
    </div>
  );
}

const PARTS: [name: string, words: string][] = [
  ["type", "Event type"],
  ["where", "Where it goes"],
  ["strip", "The six slots"],
  ["how", "How it ended"],
  ["when", "When it was created"],
  ["chart", "A chart of what was sent"],
];
const REMEMBERED = "list-hides";

/** What of the list is hidden, as this browser remembers it: columns by their classes, and the chart. */
export function useListView() {
  const [hidden, setHidden] = useState(() => (localStorage.getItem(REMEMBERED) ?? "chart").split(" "));
  function toggle(name: string) {
    const next = toggled(hidden, name);
    localStorage.setItem(REMEMBERED, next.join(" "));
    setHidden(next);
  }
  return { hidden, toggle };
}

type ListViewProps = ReturnType<typeof useListView> & { onClose: () => void };

/** Chooses what the list shows. */
export function ListView({ hidden, toggle, onClose }: ListViewProps) {
  return (
    <Dialog
      title="What the list shows"
      foot={<Button kind="accent" children="Done" onClick={onClose} />}
      onClose={onClose}
    >
      {PARTS.map(([name, words]) => (
        <CheckBox key={name} checked={!hidden.includes(name)} onChange={() => toggle(name)}>
          {words}
        </CheckBox>
      ))}
      <p class="muted">Narrow lists show what there is room for.</p>
    </Dialog>
  );
}

const AGAIN_AFTER_MS = 2_000;
const [WIDTH, HEIGHT] = [600, 56];
/** An answer that took ten seconds, the limit, is drawn at the top. */
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
