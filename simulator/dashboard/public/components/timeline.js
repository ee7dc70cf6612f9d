import { dayAndTimeOf, fullTimeOf, millisecondsOf, timeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { live, scheduleNowMs } from "../core/live.js";
import { DELAY_WORDS, SINCE_START_WORDS, slotsOf } from "../core/schedule.js";
import { outcomeWord } from "../core/words.js";
import { Countdown, useTick } from "./countdown.js";
import { Icon } from "./icon.js";

const MARKS = { ok: "check", failed: "cross", purpose: "cross" };

/** The six slots over 14 h 36 min: what happened in each, and what is still to come. */
export function Timeline({ delivery, chosen, onChoose }) {
  useTick();
  const slots = slotsOf(delivery);
  return html`<section class="timeline" aria-label="Attempts over 14 hours 36 minutes">
    <ol>
      ${slots.map(
        (slot, index) =>
          html`<li key=${slot.number} class=${`slot ${slot.state} ${chosen === slot.number ? "chosen" : ""}`}>
            ${index > 0 && html`<${Wait} slot=${slot} before=${slots[index - 1]} index=${index} />`}
            <${Slot} slot=${slot} isChosen=${chosen === slot.number} onChoose=${onChoose} />
          </li>`,
      )}
    </ol>
  </section>`;
}

/** The way to a slot, filled as far as schedule time has come. */
function Wait({ slot, before, index }) {
  const filled = slot.attempt ? 1 : slot.state === "next" ? progress(before, slot) : 0;
  return html`<span class="slot-wait" aria-hidden="true"
    ><span class="wait-words">${DELAY_WORDS[index]}</span
    ><span class="wait-line"><span class="wait-fill" style=${{ "--filled": filled }}></span></span
  ></span>`;
}

function progress(before, slot) {
  const fromMs = Date.parse(before.attempt?.ended_at ?? before.attempt?.started_at ?? "") || before.dueMs;
  const nowMs = scheduleNowMs() ?? fromMs;
  return slot.dueMs <= fromMs ? 1 : Math.min(1, Math.max(0, (nowMs - fromMs) / (slot.dueMs - fromMs)));
}

function Slot({ slot, isChosen, onChoose }) {
  const { number, attempt, state } = slot;
  const mark = html`<span class="slot-dot" aria-hidden="true"
    >${MARKS[state] ? html`<${Icon} name=${MARKS[state]} size=${14} />` : number}</span
  >`;
  if (attempt === undefined)
    return html`<div class="slot-box">
      ${mark}
      <b class="slot-words" title=${`Attempt ${number}`}>${SINCE_START_WORDS[number - 1]}</b>
      <span class="slot-words">${restWords(slot)}</span>
    </div>`;
  return html`<button
    type="button"
    class="slot-box"
    aria-pressed=${String(isChosen)}
    onClick=${() => onChoose(number)}
  >
    ${mark}
    <b class="slot-words" title=${`Attempt ${number}`}>${SINCE_START_WORDS[number - 1]}</b>
    <span class=${`slot-words outcome ${state}`}>${outcomeWord(attempt)}</span>
    <span class="slot-words">
      <time datetime=${attempt.started_at} title=${`Schedule time ${fullTimeOf(attempt.started_at)}`}>
        ${shortTime(attempt.started_at)}
      </time>
    </span>
    <span class="slot-words slot-real muted" title=${`Real time ${fullTimeOf(attempt.wall_started_at)}`}>
      <span class="nowrap"
        >real ${timeOf(attempt.wall_started_at)}${attempt.duration_ms !== null && ","}</span
      >
      ${attempt.duration_ms !== null && html` <span class="nowrap">${millisecondsOf(attempt.duration_ms)}</span>`}
    </span>
  </button>`;
}

function restWords({ state, dueMs }) {
  const dueAt = new Date(dueMs).toISOString();
  if (state === "next")
    return html`<${Countdown} until=${dueAt} /><br /><span class="muted">${shortTime(dueAt)}</span>`;
  if (state === "later") return html`<span class="muted">${shortTime(dueAt)}<br />if all before fail</span>`;
  return html`<span class="muted">not needed</span>`;
}

/** The day stands with it only where it is not today. */
function shortTime(when) {
  const today = live.clock && dayAndTimeOf(live.clock.wall_now).slice(0, 6);
  return dayAndTimeOf(when).slice(0, 6) === today ? timeOf(when) : dayAndTimeOf(when);
}
