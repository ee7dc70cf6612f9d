import { createSimulator } from "../simulator/service/simulator.ts";
import type { WallTime } from "../simulator/domain/wall-time.ts";
import { numberOf } from "./support/rounds.ts";

/**
 * Whether memory stays flat: 24 hours of `serve --traffic 600` in simulated time, with one endpoint that accepts
 * everything. The machine's clock is simulated and the network answers at once; everything else is real, with the default
 * limits. `npm run bench -- flat --hours 2` makes it shorter.
 */
const HOURS = numberOf("--hours") ?? 24;
const PER_MINUTE = 600;
const MOST_MB = 300;
const ANSWER = {
  headers: { "content-type": "application/json", connection: "close" },
  body: Buffer.from('{"received":true,"duplicate":false}'),
  truncated: false,
};

const wall = createSteppedWall(Date.UTC(2026, 0, 31, 12));
const created = createSimulator({
  seed: 1,
  wall,
  send: () => Promise.resolve({ outcome: { status: 200 }, durationMs: 5, answer: ANSWER }),
});
if (!created.ok) throw new Error(created.message);
const { simulator } = created;
simulator.endpoints.register({ url: "http://localhost:3000/webhooks" });
simulator.traffic.set(PER_MINUTE);

let mostMb = 0;
const startedMs = performance.now();
for (let second = 1; second <= HOURS * 3_600; second++) {
  wall.pass(1_000);
  await simulator.settled();
  if (second % 60 === 0) mostMb = Math.max(mostMb, process.memoryUsage().rss / 1e6);
  if (second % 3_600 === 0) report(second / 3_600);
}
await simulator.close();
process.stdout.write(
  `  At most ${mostMb.toFixed(0)} MB in ${HOURS} h of ${PER_MINUTE} a minute (goal: ${MOST_MB} MB), simulated in ${((performance.now() - startedMs) / 1000).toFixed(0)} s.\n`,
);
if (mostMb > MOST_MB) process.exitCode = 1;

function report(hours: number): void {
  const { total } = simulator.counts.deliveries();
  const events = simulator.counts.events();
  const memoryMb = (process.memoryUsage().rss / 1e6).toFixed(0);
  process.stdout.write(
    `  ${String(hours).padStart(3)} h  ${total.toLocaleString("en").padStart(8)} deliveries  ${events.toLocaleString("en").padStart(8)} events  ${memoryMb.padStart(5)} MB\n`,
  );
}

/** A fake machine clock: timers fire in order when it is moved. */
function createSteppedWall(startMs: number): WallTime & { pass: (ms: number) => void } {
  let nowMs = startMs;
  let timers: { atMs: number; action: () => void }[] = [];
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    after(delayMs, action) {
      const timer = { atMs: nowMs + delayMs, action };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    pass(ms) {
      const untilMs = nowMs + ms;
      for (;;) {
        const next = timers.toSorted((left, right) => left.atMs - right.atMs)[0];
        if (next === undefined || next.atMs > untilMs) break;
        timers = timers.filter((other) => other !== next);
        nowMs = Math.max(nowMs, next.atMs);
        next.action();
      }
      nowMs = untilMs;
    },
  };
}
