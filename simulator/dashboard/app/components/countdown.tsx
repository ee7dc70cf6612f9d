import { useEffect, useState } from "preact/hooks";
import { live, scheduleNowMs } from "../core/live.ts";
import { countdownOf } from "../core/words.ts";

const TICK_MS = 500;
const tickers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

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
export function Countdown({ until }: { until: string }) {
  useTick();
  const nowMs = scheduleNowMs();
  if (nowMs === undefined) return null;
  const leftMs = Date.parse(until) - nowMs;
  if (leftMs <= 0) return <span class="countdown">due now</span>;
  const isStill = live.clock?.mode === "manual";
  return (
    <time
      class="countdown"
      datetime={until}
      title={isStill ? "Schedule time stands still: step the clock." : until}
    >
      in {countdownOf(leftMs)}
    </time>
  );
}
