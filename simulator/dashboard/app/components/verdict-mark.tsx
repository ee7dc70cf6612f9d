import type { Delivery, VerdictResult } from "../core/types.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Marked } from "./marked.tsx";

const ICONS: Record<VerdictResult, IconName> = {
  ok: "check",
  not: "cross",
  unknown: "question",
  waiting: "clock",
};

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
export function VerdictLine({ delivery }: { delivery: Delivery }) {
  const { result, sentence, why } = delivery.verdict;
  return (
    <div class={`verdict-line box ${result}`} role="status">
      <span class={`verdict-mark disc ${result}`} aria-hidden="true">
        <Icon name={ICONS[result]} size={14} />
      </span>
      <div>
        <b>{sentence}</b>
        {why && (
          <p class="verdict-why muted">
            <Marked text={why} />
          </p>
        )}
        {delivery.handling && <p class="verdict-why muted">{handlingWords(delivery.handling)}</p>}
      </div>
    </div>
  );
}

function handlingWords({ handled, duplicates, state }: NonNullable<Delivery["handling"]>): string {
  const times = ["never", "once", "twice"][handled] ?? `${handled} times`;
  const seen =
    duplicates !== null && duplicates > 0
      ? `, ${duplicates} ${duplicates === 1 ? "duplicate" : "duplicates"} seen`
      : "";
  return `The receiver says: ${state ? `${state}, ` : ""}handled ${times}${seen}.`;
}
