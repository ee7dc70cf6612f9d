import { useEffect, useState } from "preact/hooks";
import { countdownOf } from "../core/format.js";
import { html } from "../core/html.js";
import { live, scheduleNowMs } from "../core/live.js";

const TICK_MS = 500;
const tickers = new Set();
let timer;

/** Renders again about twice a second while shown, all components at the same moment. */
export function useTick() {
  const [, setCount] = useState(0);
  useEffect(() => {
    const tick = () => setCount((count) => count + 1);
    tickers.add(tick);
    timer ??= setInterval(() => {
      for (const ticker of tickers) ticker();
    }, TICK_MS);
    return () => {
      tickers.delete(tick);
      if (tickers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
}

/** Schedule time left until `until` (ISO 8601). */
export function Countdown({ until }) {
  useTick();
  const nowMs = scheduleNowMs();
  if (nowMs === undefined) return null;
  const leftMs = Date.parse(until) - nowMs;
  if (leftMs <= 0) return html`<span class="countdown">due now</span>`;
  const isStill = live.clock.mode === "manual";
  return html`<time
    class="countdown"
    datetime=${until}
    title=${isStill ? "Schedule time stands still: step the clock." : until}
    >in ${countdownOf(leftMs)}</time
  >`;
}
