import { aheadOf, placeOnLine } from "../core/ahead.ts";
import { WAITS } from "../core/schedule.ts";
import type { Due } from "../core/types.ts";
import { countdownOf, countOf, momentOf } from "../core/words.ts";

/** Right of this part of the line, the words stand to the left of the mark. */
const MIDDLE = 0.5;

type StripTipProps = { aheadMs: number; target: number; words: string };

/** Where schedule time would be moved, and what happens on the way. */
export function StripTip({ aheadMs, target, words }: StripTipProps) {
  const place = placeOnLine(aheadMs);
  const side = place <= MIDDLE ? { left: `${place * 100}%` } : { right: `${(1 - place) * 100}%` };
  return (
    <div style={side} class="strip-tip box small">
      <b>In {countdownOf(aheadMs)}</b> <span class="muted">at {momentOf(target, target - aheadMs)}</span>
      <p>{words}</p>
    </div>
  );
}

const LOWEST_PX = 8;
const HIGHEST_PX = 20;

/** The delays of the retry policy, as the scale of the line. */
export function StripTicks() {
  return (
    <svg class="strip-ticks" aria-hidden="true">
      <text x="6" y="31">
        now
      </text>
      {WAITS.map(({ seconds, words }) => {
        const x = `${placeOnLine(seconds * 1000) * 100}%`;
        return (
          <g key={seconds}>
            <rect x={x} y="4" width="1" height="16" />
            <text x={x} y="31" text-anchor="middle">
              {words}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/**
 * What falls due: attempts as bars that are the higher the more there are, steps as points of their type's colour; and a
 * line at the chosen place.
 */
export function StripMarks({ due, place }: { due: Due[]; place: number }) {
  return (
    <svg class="strip-marks" aria-hidden="true">
      {due.map((one) => {
        const aheadMs = aheadOf(one.due_at);
        const x = `${placeOnLine(aheadMs) * 100}%`;
        const title = <title>{wordsOf(one, aheadMs)}</title>;
        const height = Math.min(HIGHEST_PX, LOWEST_PX + 3 * Math.log2(one.count));
        const type = (one.event_type ?? "").replace(".", "-");
        return one.kind === "step" ? (
          <circle key={`step ${one.due_at}`} class={`mark-step ${type}`} cx={x} cy="12" r="4">
            {title}
          </circle>
        ) : (
          <rect
            key={one.delivery_id}
            class="mark-due wait"
            x={x}
            y={22 - height}
            width="3"
            height={height}
            rx="1"
          >
            {title}
          </rect>
        );
      })}
      <rect class="strip-line" x={`${place * 100}%`} width="2" height="22" />
    </svg>
  );
}

function wordsOf({ kind, count, event_type: type, attempt: number }: Due, aheadMs: number): string {
  const when = aheadMs === 0 ? "due now" : `in ${countdownOf(aheadMs)}`;
  if (kind === "step") return `${countOf(count, "scenario step")}, ${when}: ${type}`;
  return count === 1
    ? `Attempt ${number ?? ""} of ${type}, ${when}`
    : `${countOf(count, "attempt")}, ${when}`;
}
