import { dayAndTimeOf, fullTimeOf, millisecondsOf, timeOf } from "../core/format.ts";
import { endpointOf, live } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import type { Row } from "../core/rows.ts";
import { attemptTone, slotsOf, type SlotState } from "../core/schedule.ts";
import type { Delivery, EventRecord } from "../core/types.ts";
import { lineOf, outcomeWord, placeOf, withControlsShown } from "../core/words.ts";
import { TypeMark } from "./chips.tsx";
import { Countdown } from "./countdown.tsx";
import { VerdictMark } from "./verdict-mark.tsx";

const LIT_MS = 1_600;

type FeedRowProps = { row: Row; query: string; isChosen: boolean; isPicked: boolean };

/** One row of the list, whatever it is; `query` goes along with every link, so that the filters stay. */
export function FeedRow({ row, query, isChosen, isPicked }: FeedRowProps) {
  if (row.kind === "lonely")
    return <EventRow event={row.event} words="No endpoint has selected it: it went to nobody." />;
  if (row.kind === "event") {
    const { event_id: id, event_type: type, summary, created_at } = row.delivery;
    return <EventRow event={{ id, type, summary, created_at }} words={`${row.count} deliveries`} />;
  }
  const { delivery, isGrouped } = row;
  return <DeliveryRow {...{ delivery, isGrouped, query, isChosen, isPicked }} />;
}

type DeliveryRowProps = {
  delivery: Delivery;
  isGrouped?: boolean;
  query?: string;
  isChosen?: boolean;
  isPicked?: boolean;
};

/** One delivery in one line: what happened, where it goes, how it goes, and when it was sent off. */
export function DeliveryRow({
  delivery,
  isGrouped = false,
  query = "",
  isChosen = false,
  isPicked = false,
}: DeliveryRowProps) {
  const { id, event_type: type, endpoint_id: endpointId, resend_of: resendOf, verdict } = delivery;
  const place = placeOf(endpointOf(endpointId)?.url);
  const lit = performance.now() - (live.feed.litAt(id) ?? -LIT_MS) < LIT_MS;
  return (
    <a
      class={`feed-row edge flex ${isGrouped ? "grouped" : ""} ${lit ? litClass(delivery) : ""} ${isWithinReach(delivery) ? "within-reach" : ""} ${isPicked ? "picked" : ""}`}
      href={hrefTo(`/deliveries/${id}${query}`)}
      aria-current={isChosen ? "true" : undefined}
    >
      <VerdictMark delivery={delivery} /> {isPicked && <span class="visually-hidden">Chosen.</span>}
      {!isGrouped && <TypeMark type={type} />}{" "}
      <span class="line flex">
        <span class="foreign">{isGrouped ? place : lineOf(delivery)}</span>
        {resendOf !== null && <span class="tag">resent</span>}
        {verdict.meant !== "honest" && <span class={`tag ${verdict.result}`}>{verdict.sentence}</span>}
      </span>{" "}
      <code class="type-word faint foreign">{isGrouped ? "" : withControlsShown(type)}</code>{" "}
      <span class="where muted foreign">{isGrouped ? "" : place}</span> <SlotStrip delivery={delivery} />{" "}
      <How delivery={delivery} /> <When at={delivery.created_at} />
    </a>
  );
}

/** How the last attempt ended, and what comes next. */
function How({ delivery }: { delivery: Delivery }) {
  const { attempts, state, next_attempt_at: nextAt } = delivery;
  const last = attempts.at(-1);
  const took = last?.ended_at && state === "delivered" ? millisecondsOf(last.duration_ms) : "";
  return (
    <span class="how flex between">
      <span class={`outcome ${last ? attemptTone(last) : ""}`}>
        {last ? outcomeWord(last) : "not sent yet"}
      </span>
      <span class="next faint">
        {nextAt !== null ? <Countdown until={nextAt} /> : state === "dead" ? gaveUpWords(delivery) : took}
      </span>
    </span>
  );
}

function gaveUpWords({ recovered_by: recoveredBy }: Delivery): string {
  return recoveredBy === null ? "gave up" : "recovered";
}

type EventRowProps = { event: Omit<EventRecord, "object" | "org_id" | "origin">; words: string };

/** An event: with the deliveries below it, or one that no endpoint wanted. */
function EventRow({ event, words }: EventRowProps) {
  return (
    <a class="feed-row edge flex event" href={hrefTo(`/events/${event.id}`)}>
      <span class="no-mark" /> <TypeMark type={event.type} />{" "}
      <span class="line flex">
        <span class="foreign">{lineOf({ summary: event.summary, event_type: event.type })}</span>
      </span>{" "}
      <code class="type-word faint foreign">{withControlsShown(event.type)}</code>{" "}
      <span class="where muted">{words}</span> <When at={event.created_at} />
    </a>
  );
}

/** Schedule time, by which the list is sorted. */
function When({ at }: { at: string }) {
  const nowDay = live.clock && dayAndTimeOf(live.clock.wall_now).slice(0, 6);
  const shown = dayAndTimeOf(at).slice(0, 6) === nowDay ? timeOf(at) : dayAndTimeOf(at);
  return (
    <time class="when faint" datetime={at} title={`Created ${fullTimeOf(at)} of schedule time`}>
      {shown}
    </time>
  );
}

/** Two names for one light, so that it is lit again when something happens while it fades. */
function litClass({ attempts }: Delivery): string {
  return attempts.length % 2 === 0 ? "lit" : "lit-again";
}

/** Whether its next attempt would be made by moving schedule time to where one points. */
function isWithinReach({ next_attempt_at: nextAt }: Delivery): boolean {
  return live.reachMs !== undefined && nextAt !== null && Date.parse(nextAt) <= live.reachMs;
}

const WORDS: Partial<Record<SlotState, string>> = {
  later: "not due yet",
  next: "next",
  unused: "not needed",
};

/** The six slots of a delivery as six small marks. */
export function SlotStrip({ delivery }: { delivery: Delivery }) {
  const slots = slotsOf(delivery);
  const made = delivery.attempts.length;
  return (
    <span class="strip" role="img" aria-label={`${made} of 6 attempts made`}>
      {slots.map((slot) => (
        <span
          key={slot.number}
          class={`slot-mark ${slot.state}`}
          title={`Attempt ${slot.number}: ${slot.attempt ? outcomeWord(slot.attempt) : WORDS[slot.state]}`}
        />
      ))}
    </span>
  );
}
