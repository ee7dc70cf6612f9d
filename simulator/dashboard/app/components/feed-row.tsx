import { live } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import type { Row } from "../core/rows.ts";
import { attemptTone, slotsOf } from "../core/schedule.ts";
import type { Delivery, EventRecord } from "../core/types.ts";
import { fullTimeOf, lineOf, millisecondsOf, momentOf, outcomeWord, placeOf } from "../core/words.ts";
import { withControlsShown } from "../core/words.ts";
import { Countdown, TypeMark, VerdictMark } from "./chips.tsx";

const LIT_MS = 1_600;

type FeedRowProps = {
  row: Row;
  query: string;
  isChosen: boolean;
  isPicked: boolean;
  onPick: (isRange: boolean) => void;
};

/** One row of the list; `query` is added to every link, so that the filters stay. */
export function FeedRow({ row, onPick, ...rest }: FeedRowProps) {
  if (row.kind === "lonely") return <LonelyRow event={row.event} />;
  return (
    <>
      <Pick label={`Choose: ${lineOf(row.delivery)}`} isPicked={rest.isPicked} onPick={onPick} />
      <DeliveryRow delivery={row.delivery} {...rest} />
    </>
  );
}

type PickProps = {
  label: string;
  isPicked: boolean;
  isDisabled?: boolean;
  onPick: (isRange: boolean) => void;
};

/** A box to choose a row by; with the Shift key, all from the last one to it. */
export function Pick({ label, isPicked, isDisabled = false, onPick }: PickProps) {
  return (
    <label class="pick">
      <input
        type="checkbox"
        aria-label={label}
        checked={isPicked}
        disabled={isDisabled}
        onClick={(event) => onPick(event.shiftKey)}
      />
    </label>
  );
}

type DeliveryRowProps = { delivery: Delivery } & Partial<Omit<FeedRowProps, "row" | "onPick">>;

/** One delivery in one line: what happened, where it goes, how it goes, and when it was sent off. */
export function DeliveryRow({ delivery, query = "", isChosen, isPicked }: DeliveryRowProps) {
  const { id, event_type: type, resend_of: resendOf, verdict, next_attempt_at: nextAt } = delivery;
  const place = placeOf(live.endpoints?.get(delivery.endpoint_id));
  const isLit = performance.now() - (live.feed.litAt(id) ?? -LIT_MS) < LIT_MS;
  // Whether its next attempt would be made if schedule time moved to the selected time.
  const isWithinReach = live.reachMs !== undefined && nextAt !== null && Date.parse(nextAt) <= live.reachMs;
  const names = ["feed-row edge flex", isLit && "lit", isWithinReach && "within-reach", isPicked && "picked"];
  return (
    <a
      class={names.filter(Boolean).join(" ")}
      href={hrefTo(`/deliveries/${id}${query}`)}
      aria-current={isChosen ? "true" : undefined}
    >
      <VerdictMark delivery={delivery} /> <TypeMark type={type} />{" "}
      <span class="line flex">
        <span class="cut foreign">{lineOf(delivery)}</span>
        {resendOf !== null && <span class="tag tiny">resent</span>}
        {verdict.meant !== "honest" && (
          <span class={`tag cut tiny ${verdict.result}`}>{verdict.sentence}</span>
        )}
      </span>{" "}
      <code class="type-word cut faint foreign">{withControlsShown(type)}</code>{" "}
      <span class="where cut muted foreign">{place}</span> <SlotStrip delivery={delivery} />{" "}
      <How delivery={delivery} /> <When at={delivery.created_at} />
    </a>
  );
}

/** How the last attempt ended, and what is next. */
function How({ delivery }: { delivery: Delivery }) {
  const { attempts, state, next_attempt_at: nextAt, recovered_by: recoveredBy } = delivery;
  const last = attempts.at(-1);
  const outcome = last ? outcomeWord(last) : "not sent yet";
  // A later delivery succeeded, so this one's outcome no longer counts.
  if (recoveredBy !== null)
    return (
      <span class="how flex between">
        <span class="outcome">recovered</span>
        <span class="next cut faint">{outcome}</span>
      </span>
    );
  const tookWords = last?.ended_at ? millisecondsOf(last.duration_ms) : "";
  const end = { attempting: "", delivered: tookWords, dead: "gave up" };
  return (
    <span class="how flex between">
      <span class={`outcome cut ${last ? attemptTone(last) : ""}`}>{outcome}</span>
      <span class="next faint">{nextAt !== null ? <Countdown until={nextAt} /> : end[state]}</span>
    </span>
  );
}

/** An event that no endpoint has selected. */
function LonelyRow({ event: { id, type, summary, created_at: at } }: { event: EventRecord }) {
  return (
    <a class="feed-row edge flex event" href={hrefTo(`/events/${id}`)}>
      <span class="no-mark" /> <TypeMark type={type} />{" "}
      <span class="line flex">
        <span class="cut foreign">{lineOf({ summary, event_type: type })}</span>
      </span>{" "}
      <code class="type-word cut faint foreign">{withControlsShown(type)}</code>{" "}
      <span class="where cut muted">No endpoint selects it: it was not sent.</span> <When at={at} />
    </a>
  );
}

/** Schedule time, by which the list is sorted. */
function When({ at }: { at: string }) {
  const moment = momentOf(at, live.clock?.wall_now);
  return (
    <time class="when faint" datetime={at} title={`Created ${fullTimeOf(at)} of schedule time`}>
      <span class="day">{moment.slice(0, -8)}</span>
      {moment.slice(-8)}
    </time>
  );
}

const WORDS: Record<string, string> = { later: "not due yet", next: "next", unused: "not needed" };

/** The six slots of a delivery as six small marks. */
function SlotStrip({ delivery }: { delivery: Delivery }) {
  return (
    <span class="strip" role="img" aria-label={`${delivery.attempts.length} of 6 attempts made`}>
      {slotsOf(delivery).map(({ number, state, attempt }) => (
        <span
          key={number}
          class={`slot-mark ${state}`}
          title={`Attempt ${number}: ${attempt ? outcomeWord(attempt) : WORDS[state]}`}
        />
      ))}
    </span>
  );
}
