import type { ComponentChildren } from "preact";
import { attemptTone } from "../core/schedule.ts";
import type { Attempt, DeliveryState } from "../core/types.ts";
import { outcomeWord, STATE_TITLES, STATE_WORDS } from "../core/words.ts";
import { Icon, type IconName } from "./icon.tsx";

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

/** A word on a tinted ground: tones are ok, bad, wait, purpose and plain. */
export function Chip({ tone = "plain", title, children }: ChipProps) {
  return (
    <span class={`chip inline ${tone}`} title={title}>
      {children}
    </span>
  );
}

/** In progress, delivered or given up. */
export function StateChip({ state }: { state: DeliveryState }) {
  return (
    <Chip tone={STATE_TONES[state]} title={STATE_TITLES[state]}>
      {STATE_WORDS[state]}
    </Chip>
  );
}

/** How an attempt ended; what failed on purpose is not shown as the receiver's. */
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
    <span class="type inline">
      <TypeMark type={type} />
      <span class="foreign">{type}</span>
    </span>
  );
}
