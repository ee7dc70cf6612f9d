import { useRef, useState } from "preact/hooks";
import { control } from "../core/api.js";
import { dayAndTimeOf, fullTimeOf, timeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { scheduleNowMs, setClock, useLive } from "../core/live.js";
import { attempt } from "../core/toasts.js";
import { CLOCK_MODES } from "../core/words.js";
import { Countdown, useTick } from "./countdown.js";
import { Segments } from "./code-view.js";
import { Icon } from "./icon.js";

const MODES = Object.entries(CLOCK_MODES).map(([mode, [word, sentence]]) => [mode, word, sentence]);

/** Schedule time, how it runs, and the buttons that move it. */
export function ClockBar() {
  const { clock } = useLive();
  const [busy, setBusy] = useState();
  const queue = useRef(Promise.resolve());

  async function move(name, body, before) {
    await before;
    setBusy(name);
    const moved = await attempt(() => control.post("/clock/advance", body));
    setBusy(undefined);
    if (moved) setClock(moved);
  }
  /** One step after the other: whoever presses a key three times means three steps. */
  function advance(name, body) {
    queue.current = move(name, body, queue.current);
  }
  async function setMode(mode) {
    const changed = await attempt(() => control.patch("/clock", { mode }));
    if (changed) setClock(changed);
  }
  useKeys({
    n: () => advance("next", { until: "next" }),
    m: () => advance("minute", { seconds: 60 }),
    h: () => advance("hour", { seconds: 3_600 }),
    E: () => advance("idle", { until: "idle" }),
  });

  if (clock === undefined) return html`<div class="clock-bar" aria-busy="true"></div>`;
  const waits = clock.next_attempt_at !== null;
  const button = (name, body, words, icon, title, disabled = false) =>
    html`<button
      type="button"
      class=${`button small ${busy === name ? "busy" : ""}`}
      title=${title}
      disabled=${disabled}
      aria-busy=${String(busy === name)}
      onClick=${() => advance(name, body)}
    >
      ${icon && html`<${Icon} name=${icon} size=${15} />`}${words}
    </button>`;

  return html`<section class="clock-bar" aria-label="Schedule clock">
    <${Now} />
    <${Segments} label="Clock mode" value=${clock.mode} options=${MODES} onChange=${setMode} />
    <div class="clock-next">
      <span class="label">Next attempt</span>
      <span class="value"
        >${waits ? html`<${Countdown} until=${clock.next_attempt_at} />` : html`<span class="muted">none due</span>`}</span
      >
    </div>
    <div class="clock-buttons" role="group" aria-label="Move schedule time">
      ${button("next", { until: "next" }, "Next", "next", "Step to the next attempt (n)", !waits)}
      ${button("minute", { seconds: 60 }, "+1 min", undefined, "Advance one minute (m)")}
      ${button("hour", { seconds: 3_600 }, "+1 h", undefined, "Advance one hour (h)")}
      ${button("idle", { until: "idle" }, "To the end", "end", "Advance until nothing waits any more (Shift+E)", !waits)}
    </div>
  </section>`;
}

function Now() {
  useTick();
  const nowMs = scheduleNowMs();
  const wall = new Date();
  const isAhead = Math.abs(nowMs - wall.getTime()) > 2_000;
  const isOtherDay = dayAndTimeOf(nowMs).slice(0, 6) !== dayAndTimeOf(wall).slice(0, 6);
  return html`<div
    class="clock-now"
    title=${`Schedule time: ${fullTimeOf(nowMs)}. Real time: ${fullTimeOf(wall)}.`}
  >
    <span class="label">Schedule time</span>
    <span class="value"
      ><time datetime=${new Date(nowMs).toISOString()}
        >${isOtherDay ? dayAndTimeOf(nowMs) : timeOf(nowMs)}</time
      >${isAhead && html`<span class="muted real"> real ${timeOf(wall)}</span>`}</span
    >
  </div>`;
}
