import { countOf } from "../core/format.ts";
import { useLive } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import { attemptTone } from "../core/schedule.ts";
import { lineOf, outcomeWord } from "../core/words.ts";
import { Button } from "./button.tsx";

/** What stands below the last row: whether there is more, or that this is all. */
export function FeedEnd({ onRetry }: { onRetry: () => unknown }) {
  const { feed } = useLive();
  const rows = feed.rows().length;
  if (feed.error !== undefined)
    return (
      <p class="feed-end faint">
        {feed.error.message}{" "}
        <Button kind="small" onClick={onRetry}>
          Try again
        </Button>
      </p>
    );
  if (feed.hasMore)
    return (
      <p class="feed-end faint" role="status">
        Searching older deliveries…
      </p>
    );
  return <p class="feed-end faint">{countOf(rows, "row")}: that is all.</p>;
}

/** The attempt that ended last, wherever in the list it may stand: a retry of an old delivery is far below. */
export function LatestAttempt({ query }: { query: string }) {
  const { feed } = useLive();
  const delivery = feed.latest();
  if (delivery === undefined) return null;
  const attempt = delivery.attempts.findLast((made) => made.ended_at !== null);
  if (attempt === undefined) return null;
  return (
    <a class="latest edge flex muted small" href={hrefTo(`/deliveries/${delivery.id}${query}`)}>
      <span class="faint">Latest</span>{" "}
      <span class={`outcome ${attemptTone(attempt)}`}>{outcomeWord(attempt)}</span>{" "}
      <span class="one-line foreign">
        attempt {attempt.number} · {lineOf(delivery)}
      </span>
    </a>
  );
}
