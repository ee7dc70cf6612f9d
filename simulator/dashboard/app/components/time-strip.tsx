import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../core/actions.ts";
import { aheadAtPlace, aheadOf, onTheWay, placeOnLine, SCHEDULE_MS, useAhead } from "../core/ahead.ts";
import { control } from "../core/api.ts";
import { clockFrom, scheduleNowMs, setReach, useLive } from "../core/live.ts";
import { WAITS } from "../core/schedule.ts";
import { useAttempt } from "../core/toasts.ts";
import type { Due } from "../core/types.ts";
import { countdownOf, momentOf } from "../core/words.ts";
import { useTick } from "./chips.tsx";
import { isMeant } from "./dialog.tsx";
import { StripMarks, StripTicks, StripTip } from "./strip-parts.tsx";

const ARROWS: Record<string, number> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
/** Within this distance of a mark, the mark is selected. */
const SNAP = 0.012;

/**
 * What lies ahead, from now to 14 h 36 min: each due attempt and each step of a scenario. Drag along it, or use the arrow
 * keys, to move schedule time there; where deliveries wait on the way, it asks first.
 */
export function TimeStrip() {
  const { clock } = useLive();
  useTick();
  const due = useAhead();
  const track = useRef<HTMLDivElement>(null);
  /** Where schedule time would be moved to, in milliseconds. */
  const [target, setTarget] = useState<number>();
  const [busy, run] = useAttempt();
  useKeys({ s: () => track.current?.focus() });

  function aim(next: number | undefined) {
    setTarget(next);
    setReach(next);
  }
  const cancel = () => aim(undefined);
  // Another step was quicker: a past time is not a target.
  useEffect(() => {
    if (target !== undefined && target <= nowMs() && busy === undefined) cancel();
  });
  async function choose(toMs: number) {
    const words = onTheWay(due, toMs);
    const question = {
      title: "Move schedule time?",
      action: "Move",
      keep: "Keep waiting",
      text: `To ${momentOf(toMs, nowMs())}. On the way: ${words}. All of it happens now, in order, and so do retries that fall due by then.`,
    };
    if (words === "" || (await isMeant({ ...question, tone: "accent", isExpected: true }))) {
      const seconds = Math.max(0, toMs - nowMs()) / 1000;
      await run("move", () => clockFrom(control.post("/clock/advance", { seconds })));
    }
    cancel();
  }

  function targetAt(event: PointerEvent & { currentTarget: HTMLElement }) {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const place = (event.clientX - left) / width;
    const marked = due.find(({ due_at: dueAt }) => Math.abs(placeOnLine(aheadOf(dueAt)) - place) < SNAP);
    return marked ? Date.parse(marked.due_at) : nowMs() + aheadAtPlace(place);
  }
  function press(event: PointerEvent & { currentTarget: HTMLElement }) {
    if (event.button !== 0 || busy !== undefined) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    aim(targetAt(event));
  }
  function drag(event: PointerEvent & { currentTarget: HTMLElement }) {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) aim(targetAt(event));
  }
  function steer(event: KeyboardEvent) {
    const go = ARROWS[event.key];
    if (go !== undefined) aim(nextStop(due, target, go));
    else if (event.key === "Home") cancel();
    else if (event.key === "End") aim(Math.max(...stopsOf(due)));
    else if (event.key === "Enter" && target !== undefined && busy === undefined) void choose(target);
    else if (event.key === "Escape" && target !== undefined) cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  if (clock === undefined) return <div class="time-strip flex" aria-busy="true" />;
  const aheadMs = target === undefined ? 0 : Math.max(0, target - nowMs());
  const words = onTheWay(due, target ?? Number.POSITIVE_INFINITY);
  return (
    <section class={`time-strip flex ${busy === undefined ? "" : "busy"}`} aria-label="What lies ahead">
      <div class="strip-room">
        <div
          ref={track}
          class="strip-track"
          role="slider"
          tabindex={0}
          aria-label="Move schedule time ahead"
          aria-valuemin={0}
          aria-valuemax={SCHEDULE_MS / 1000}
          aria-valuenow={Math.min(SCHEDULE_MS, aheadMs) / 1000}
          aria-valuetext={target === undefined ? "now" : `in ${countdownOf(aheadMs)}${words && `: ${words}`}`}
          title="Drag to move schedule time ahead (s, then the arrow keys)"
          onPointerDown={press}
          onPointerMove={drag}
          onPointerUp={() => target !== undefined && choose(target)}
          onPointerCancel={cancel}
          onKeyDown={steer}
        >
          <StripTicks />
          <StripMarks due={due} place={target === undefined ? 0 : placeOnLine(aheadMs)} />
        </div>
        {target !== undefined && <StripTip aheadMs={aheadMs} target={target} words={words} />}
      </div>
      <p class="strip-sum muted small one-line" role="status">
        {onTheWay(due, Number.POSITIVE_INFINITY) ||
          (clock.next_attempt_at === null ? "Nothing is due" : "Later")}
      </p>
    </section>
  );
}

/** Where the arrow keys halt: each due moment, and the delays of the retry policy. */
function stopsOf(due: Due[]): number[] {
  const fromMs = nowMs();
  const delays = WAITS.map(({ seconds }) => fromMs + seconds * 1000);
  const moments = due.map(({ due_at: dueAt }) => Date.parse(dueAt)).filter((dueMs) => dueMs > fromMs);
  return [...moments, ...delays].toSorted((a, b) => a - b);
}

function nextStop(due: Due[], target: number | undefined, go: number): number | undefined {
  const from = target ?? nowMs();
  const stops = stopsOf(due);
  // Delays are counted from now, which moves on meanwhile: a stop less than 500 ms away is the present one.
  const next = go > 0 ? stops.find((stop) => stop > from + 500) : stops.findLast((stop) => stop < from - 500);
  return next ?? (go > 0 ? target : undefined);
}

/** Schedule time; while the clock is not known yet, nothing is ahead of it. */
function nowMs(): number {
  return scheduleNowMs() ?? 0;
}
