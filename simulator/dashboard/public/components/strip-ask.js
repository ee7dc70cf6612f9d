import { useLayoutEffect, useRef } from "preact/hooks";
import { countdownOf, dayAndTimeOf, timeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { scheduleNowMs } from "../core/live.js";

/** Beyond this part of the line what is said stands to the left of it. */
const MIDDLE = 0.5;

/** Where schedule time would be moved, and what happens on the way; with `isAsking`, whether that is meant. */
export function StripAsk({ place, target, words, isAsking, onMove, onCancel }) {
  const box = useRef();
  const move = useRef();
  // Before the next key can come: a second Enter is meant for this button.
  useLayoutEffect(() => {
    if (isAsking) move.current.focus();
  }, [isAsking]);
  // The policy of the page forbids styles in markup, not setting one.
  useLayoutEffect(() => {
    const { style } = box.current;
    style.left = place <= MIDDLE ? `${place * 100}%` : "";
    style.right = place <= MIDDLE ? "" : `${(1 - place) * 100}%`;
  }, [place]);
  function press(event) {
    event.stopPropagation();
    if (event.key === "Escape") onCancel();
  }

  const nowMs = scheduleNowMs();
  const isOtherDay = dayAndTimeOf(nowMs).slice(0, 6) !== dayAndTimeOf(target).slice(0, 6);
  return html`<div
    ref=${box}
    class="strip-ask"
    role=${isAsking ? "alertdialog" : undefined}
    aria-label=${isAsking ? "Move schedule time?" : undefined}
    onKeyDown=${press}
  >
    <p>
      <b>In ${countdownOf(target - nowMs)}</b>
      <span class="muted">at ${isOtherDay ? dayAndTimeOf(target) : timeOf(target)}</span>
    </p>
    ${words !== "" && html`<p>${isAsking ? `On the way: ${words}. All of it happens now, each in its turn, and so do retries that fall due by then.` : words}</p>`}
    ${
      isAsking &&
      html`<p class="actions">
        <button ref=${move} type="button" class="button small accent" onClick=${onMove}>Move</button>
        <button type="button" class="button small" onClick=${onCancel}>Keep waiting</button>
      </p>`
    }
  </div>`;
}
