import { isFiltered, type Filters } from "../core/filters.ts";
import { useLive } from "../core/live.ts";
import { NOTHING_PICKED, picked, pickListed } from "../core/picked.ts";
import { hrefTo } from "../core/route.ts";
import { attemptTone } from "../core/schedule.ts";
import { countOf, lineOf, numberOf, outcomeWord } from "../core/words.ts";
import { Button } from "./button.tsx";
import { Pick } from "./feed-row.tsx";
import { JobProgress } from "./resend.tsx";

type BarProps = {
  filters: Filters;
  /** How many pass the filters, undefined until it is known. */
  total: number | undefined;
  /** The ids of the deliveries that are loaded. */
  listed: readonly string[];
  query: string;
  onResend: () => void;
};

/** What is selected in the list, how much it is, and the button to resend it. */
export function PickedBar({ filters, total: known, listed, query, onResend }: BarProps) {
  const { ids, isAll } = picked.use();
  const { jobs } = useLive();
  const total = known ?? 0;
  const [job] = jobs.filter(({ ended_at: endedAt }) => endedAt === null);
  const isSome = isAll || ids.length > 0;
  const isListed = ids.length > 0 && listed.every((id) => ids.includes(id));
  const all = !isFiltered(filters) ? "in all" : total === 1 ? "matches" : "match";
  return (
    <div class="picked-bar flex small" role="group" aria-label="Chosen deliveries">
      <Pick
        label="Choose all that are listed"
        isPicked={isAll || isListed}
        isDisabled={listed.length === 0}
        onPick={() => picked.set(pickListed(picked.get(), listed))}
      />
      {isSome ? (
        <b class="nowrap" role="status">
          {isAll ? `All ${numberOf(total)} chosen` : `${numberOf(ids.length)} chosen`}
        </b>
      ) : (
        <span class="nowrap muted">
          {known === undefined ? "" : `${countOf(known, "delivery", "deliveries")} ${all}`}
        </span>
      )}
      {isListed && total > ids.length && (
        <Button
          kind="small"
          onClick={() => picked.set({ ...NOTHING_PICKED, isAll: true })}
          words={`Choose all ${numberOf(total)} that ${isFiltered(filters) ? "match" : "there are"}`}
        />
      )}
      {isSome && <Button kind="quiet small" onClick={() => picked.set(NOTHING_PICKED)} words="Clear" />}
      <span class="spacer">{job === undefined && !isSome && <LatestAttempt query={query} />}</span>
      {job && <JobProgress job={job} />}
      <Button
        icon="resend"
        kind="small"
        title="Counts them first (R)"
        disabled={total === 0}
        onClick={onResend}
        words={isSome ? "Send again…" : "Send all again…"}
      />
    </div>
  );
}

/** The attempt that ended last, anywhere in the list: a retry of an old delivery is far below. */
function LatestAttempt({ query }: { query: string }) {
  const delivery = useLive().feed.latest();
  const made = delivery?.attempts.findLast(({ ended_at: endedAt }) => endedAt !== null);
  if (delivery === undefined || made === undefined) return null;
  return (
    <a class="latest edge one-line muted" href={hrefTo(`/deliveries/${delivery.id}${query}`)}>
      <span class="faint">Latest</span>{" "}
      <span class={`outcome ${attemptTone(made)}`}>{outcomeWord(made)}</span>{" "}
      <span class="foreign">
        attempt {made.number} · {lineOf(delivery)}
      </span>
    </a>
  );
}
