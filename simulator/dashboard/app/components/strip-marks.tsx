import { aheadOf, placeOnLine } from "../core/ahead.ts";
import { countdownOf, countOf } from "../core/format.ts";
import { WAITS } from "../core/schedule.ts";
import type { Due } from "../core/types.ts";

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

/** What falls due: attempts as bars that are the higher the more there are, steps as points of their type's colour. */
export function StripMarks({ due, target }: { due: Due[]; target: number | undefined }) {
  return (
    <svg class="strip-marks" aria-hidden="true">
      {due.map((one) => {
        const aheadMs = aheadOf(one.due_at);
        const x = `${placeOnLine(aheadMs) * 100}%`;
        const isReached = target !== undefined && Date.parse(one.due_at) <= target ? "reached" : "";
        const title = <title>{wordsOf(one, aheadMs)}</title>;
        if (one.kind === "step")
          return (
            <circle
              key={`step ${one.due_at}`}
              class={`mark-step ${(one.event_type ?? "").replace(".", "-")} ${isReached}`}
              cx={x}
              cy="12"
              r="4"
            >
              {title}
            </circle>
          );
        const height = Math.min(HIGHEST_PX, LOWEST_PX + 3 * Math.log2(one.count));
        return (
          <rect
            key={one.delivery_id}
            class={`mark-due ${isReached}`}
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
