import type { ComponentChildren } from "preact";
import { live, scheduleNowMs } from "../core/live.ts";
import { attemptTone } from "../core/schedule.ts";
import { createStore } from "../core/toasts.ts";
import type { Attempt, Delivery, DeliveryState } from "../core/types.ts";
import { countdownOf, countOf, outcomeWord, STATES } from "../core/words.ts";
import { Icon, type IconName } from "./button.tsx";
import { Marked } from "./page.tsx";

export type Tone = "ok" | "bad" | "wait" | "purpose" | "plain";

const STATE_TONES = { attempting: "wait", delivered: "ok", dead: "bad" } as const;
const CHIP_TONES = { ok: "ok", failed: "bad", purpose: "purpose", flying: "wait" } as const;
const TYPE_ICONS: Record<string, IconName> = {
  "call.completed": "phone",
  "call.transferred": "transfer",
  "voicemail.created": "voicemail",
  "order.created": "bag",
  "booking.created": "calendar",
};

type ChipProps = { tone?: Tone; title?: string | undefined; children: ComponentChildren };

/** A word on a tinted background: tones are ok, bad, wait, purpose and plain. */
export function Chip({ tone = "plain", title, children }: ChipProps) {
  return <span class={`chip inline ${tone}`} {...{ title, children }} />;
}

/** In progress, delivered or given up. */
export function StateChip({ state }: { state: DeliveryState }) {
  const [word, title] = STATES[state];
  return <Chip tone={STATE_TONES[state]} title={title} children={word} />;
}

/** How an attempt ended; a failure made on purpose is not shown as the receiver's. */
export function OutcomeChip({ attempt }: { attempt: Attempt }) {
  return <Chip tone={CHIP_TONES[attemptTone(attempt)]}>{outcomeWord(attempt)}</Chip>;
}

/** The mark of an event type: a drawing on a ground of its own colour. */
export function TypeMark({ type }: { type: string }) {
  const icon = TYPE_ICONS[type];
  const name = icon === undefined ? "other" : type.replace(".", "-");
  return (
    <span class={`type-mark disc ${name}`} title={type} aria-hidden="true">
      <Icon name={icon ?? "question"} size={14} />
    </span>
  );
}

/** An event type by its name, with its mark. */
export function TypeName({ type }: { type: string }) {
  return (
    <span class="type inline nowrap">
      <TypeMark type={type} />
      <span class="foreign">{type}</span>
    </span>
  );
}

const ICONS = { ok: "check", not: "cross", unknown: "question", waiting: "clock" } as const;

/** Whether the receiver did right, as a mark at the head of a row; the sentence is its title. */
export function VerdictMark({ delivery }: { delivery: Delivery }) {
  const { result, sentence } = delivery.verdict;
  return (
    <span class={`verdict-mark disc ${result}`} title={sentence}>
      <Icon name={ICONS[result]} size={13} />
      <span class="visually-hidden">{sentence}</span>
    </span>
  );
}

/** The verdict in words, and why it matters where it is not right. */
export function VerdictLine({ delivery: { verdict, handling } }: { delivery: Delivery }) {
  const { result, sentence, why } = verdict;
  return (
    <div class={`verdict-line box flex hangs ${result}`} role="status">
      <span class={`verdict-mark disc ${result}`} aria-hidden="true">
        <Icon name={ICONS[result]} size={14} />
      </span>
      <div>
        <b>{sentence}</b>
        {why && (
          <p class="muted">
            <Marked text={why} />
          </p>
        )}
        {handling && <p class="muted">{handlingWords(handling)}</p>}
      </div>
    </div>
  );
}

function handlingWords({ handled, duplicates, state }: NonNullable<Delivery["handling"]>): string {
  const times = ["never", "once", "twice"][handled] ?? `${handled} times`;
  const seen = duplicates ? `, ${countOf(duplicates, "duplicate")} seen` : "";
  return `The receiver says: ${state ? `${state}, ` : ""}handled ${times}${seen}.`;
}

const TICK_MS = 500;
const tick = createStore({});
setInterval(() => tick.set({}), TICK_MS);

/** Renders again twice a second, all components at the same moment. */
export const useTick = tick.use;

/** Schedule time left until `until` (ISO 8601). */
export function Countdown({ until }: { until: string }) {
  useTick();
  const nowMs = scheduleNowMs();
  if (nowMs === undefined) return null;
  const leftMs = Date.parse(until) - nowMs;
  if (leftMs <= 0) return <span class="countdown nowrap">due now</span>;
  const title = live.clock?.mode === "manual" ? "Schedule time stands still: step the clock." : until;
  return (
    <time class="countdown nowrap" datetime={until} title={title}>
      in {countdownOf(leftMs)}
    </time>
  );
}
