import { useRef, useState } from "preact/hooks";
import { control } from "../core/api.js";
import { countOf, dayAndTimeOf, fullTimeOf, timeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { clockFrom, scheduleNowMs, useLive } from "../core/live.js";
import { attempt } from "../core/toasts.js";
import { CLOCK_MODES } from "../core/words.js";
import { Segments } from "./code-view.js";
import { Countdown, useTick } from "./countdown.js";
import { Confirm, Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { TimeStrip } from "./time-strip.js";

const MODES = Object.entries(CLOCK_MODES).map(([mode, [word, sentence]]) => [mode, word, sentence]);
const STEPS = [
  ["next", { until: "next" }, "Next", "next", "Step to the next attempt (n)"],
  ["minute", { seconds: 60 }, "+1 min", undefined, "Advance one minute (m)"],
  ["hour", { seconds: 3_600 }, "+1 h", undefined, "Advance one hour (h)"],
  ["idle", { until: "idle" }, "To the end", "end", "Advance until nothing waits any more (Shift+E)"],
];

/** Schedule time, how it runs, and the buttons that move it. */
export function ClockBar() {
  const { clock } = useLive();
  const [busy, setBusy] = useState();
  const [isAsking, setAsking] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const queue = useRef(Promise.resolve());

  async function move(name, body, before) {
    await before;
    setBusy(name);
    await attempt(() => clockFrom(control.post("/clock/advance", body)));
    setBusy(undefined);
  }
  /** One step after the other: whoever presses a key three times means three steps. */
  function advance([name, body]) {
    queue.current = move(name, body, queue.current);
  }
  async function setMode(mode) {
    setAsking(false);
    await attempt(() => clockFrom(control.patch("/clock", { mode })));
  }
  const waiting = clock?.deliveries.attempting ?? 0;
  /** Skipping makes every attempt that waits, at once: whoever only wanted to look is asked first. */
  function chooseMode(mode) {
    if (mode === "skip" && clock.mode !== "skip" && waiting > 0) setAsking(true);
    else void setMode(mode);
  }
  const [next, minute, hour, end] = STEPS;
  useKeys({
    n: () => advance(next),
    m: () => advance(minute),
    h: () => advance(hour),
    E: () => advance(end),
  });

  if (clock === undefined) return html`<div class="clock-bar" aria-busy="true"></div>`;
  const waits = clock.next_attempt_at !== null;
  const buttons = STEPS.map(
    ([name, body, words, icon, title], index) =>
      html`<button
        type="button"
        key=${name}
        class=${`button small ${index === 0 ? "first" : ""} ${busy === name ? "busy" : ""}`}
        title=${title}
        disabled=${!waits && "until" in body}
        aria-busy=${String(busy === name)}
        onClick=${() => advance([name, body])}
      >
        ${icon && html`<${Icon} name=${icon} size=${14} />`}${words}
      </button>`,
  );
  const modes = html`<${Segments}
    label="Clock mode"
    value=${clock.mode}
    options=${MODES}
    onChange=${chooseMode}
  />`;

  return html`<section class="clock-bar" aria-label="Schedule clock">
    <${Now} />
    ${modes}
    <div class="clock-next">
      <span class="label">Next attempt</span>
      <span class="value"
        >${waits ? html`<${Countdown} until=${clock.next_attempt_at} />` : html`<span class="muted">none due</span>`}</span
      >
    </div>
    <div class="clock-buttons" role="group" aria-label="Move schedule time">${buttons}</div>
    <button
      type="button"
      class="icon-button clock-more"
      aria-label="The clock"
      onClick=${() => setOpen(true)}
    >
      <${Icon} name="clock" size=${17} />
    </button>
    ${
      isOpen &&
      html`<${Dialog} title="Schedule clock" onClose=${() => setOpen(false)}>
        <div class="dialog-body">
          <p class="muted">${CLOCK_MODES[clock.mode][1]}</p>
          ${modes}
          <${TimeStrip} />
          <div class="actions">${buttons}</div>
        </div>
      <//>`
    }
    ${
      isAsking &&
      html`<${Confirm}
        title="Skip all waiting?"
        action="Skip"
        keep="Keep waiting"
        tone="accent"
        onConfirm=${() => setMode("skip")}
        onClose=${() => setAsking(false)}
      >
        <p>
          ${countOf(waiting, "delivery is", "deliveries are")} still in progress. With Skip, schedule time
          jumps from one due attempt to the next: all that is left of them is sent now, as fast as the
          receiver answers.
        </p>
      <//>`
    }
  </section>`;
}

function Now() {
  useTick();
  const nowMs = scheduleNowMs();
  const wall = new Date();
  const isOtherDay = dayAndTimeOf(nowMs).slice(0, 6) !== dayAndTimeOf(wall).slice(0, 6);
  const isAhead = Math.abs(nowMs - wall.getTime()) > 2_000;
  return html`<div
    class="clock-now"
    title=${`Schedule time: ${fullTimeOf(nowMs)}. Real time: ${fullTimeOf(wall)}.`}
  >
    <span class="label">${isAhead ? `Schedule, real ${timeOf(wall)}` : "Schedule time"}</span>
    <span class="value"
      ><time datetime=${new Date(nowMs).toISOString()}
        >${isOtherDay ? dayAndTimeOf(nowMs) : timeOf(nowMs)}</time
      ></span
    >
  </div>`;
}
