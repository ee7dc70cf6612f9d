import { useLayoutEffect, useRef } from "preact/hooks";
import { countdownOf, dayAndTimeOf, timeOf } from "../core/format.ts";
import { scheduleNowMs } from "../core/live.ts";
import { Button } from "./button.tsx";

/** Beyond this part of the line what is said stands to the left of it. */
const MIDDLE = 0.5;

type StripAskProps = {
  place: number;
  target: number;
  words: string;
  isAsking: boolean;
  onMove: () => void;
  onCancel: () => void;
};

/** Where schedule time would be moved, and what happens on the way; with `isAsking`, whether that is meant. */
export function StripAsk({ place, target, words, isAsking, onMove, onCancel }: StripAskProps) {
  const move = useRef<HTMLButtonElement>(null);
  // Before the next key can come: a second Enter is meant for this button.
  useLayoutEffect(() => {
    if (isAsking) move.current?.focus();
  }, [isAsking]);
  function press(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Escape") onCancel();
  }

  const nowMs = scheduleNowMs() ?? Date.now();
  const isOtherDay = dayAndTimeOf(nowMs).slice(0, 6) !== dayAndTimeOf(target).slice(0, 6);
  return (
    <div
      style={place <= MIDDLE ? { left: `${place * 100}%` } : { right: `${(1 - place) * 100}%` }}
      class="strip-ask box stack small"
      role={isAsking ? "alertdialog" : undefined}
      aria-label={isAsking ? "Move schedule time?" : undefined}
      onKeyDown={press}
    >
      <p>
        <b>In {countdownOf(target - nowMs)}</b>{" "}
        <span class="muted">at {isOtherDay ? dayAndTimeOf(target) : timeOf(target)}</span>
      </p>
      {words !== "" && (
        <p>
          {isAsking
            ? `On the way: ${words}. All of it happens now, each in its turn, and so do retries that fall due by then.`
            : words}
        </p>
      )}
      {isAsking && (
        <p class="actions flex wraps">
          <button ref={move} type="button" class="button small accent" onClick={onMove}>
            Move
          </button>{" "}
          <Button kind="small" onClick={onCancel}>
            Keep waiting
          </Button>
        </p>
      )}
    </div>
  );
}
