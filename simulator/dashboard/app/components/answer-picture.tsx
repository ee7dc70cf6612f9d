import { useLive } from "../core/live.ts";
import { useGot } from "../core/load.ts";
import { hrefTo } from "../core/route.ts";
import { attemptTone } from "../core/schedule.ts";
import type { Attempt, Endpoint } from "../core/types.ts";
import { millisecondsOf, outcomeWord, timeOf } from "../core/words.ts";
import { Fact } from "./page.tsx";

const AGAIN_AFTER_MS = 400;
const [WIDTH, HEIGHT, STEP, LOWEST] = [288, 34, 6, 4];
/** An answer at the limit of ten seconds fills the height, one within a millisecond is the lowest bar. */
const LONGEST = Math.log10(10_000);

/** How an endpoint has answered lately: a bar for each attempt, as high as it took long, and what that amounts to. */
export function AnswerPicture({ endpoint }: { endpoint: Endpoint }) {
  const again = useLive().feed.heardOf(endpoint.id);
  const { value: answers } = useGot(`/endpoints/${endpoint.id}/answers`, { again, afterMs: AGAIN_AFTER_MS });
  if (answers === undefined) return <div class="answers flex wraps" />;
  const { attempts, counted, acknowledged, p95_ms: p95Ms } = answers;
  const last = attempts.at(-1);
  if (last === undefined) return <p class="answers muted flex wraps">Nothing was sent to it yet.</p>;
  const share = counted === 0 ? "–" : `${percentOf(acknowledged, counted)} %`;
  const p95 = p95Ms === null ? "–" : millisecondsOf(p95Ms);
  return (
    <div class="answers flex wraps">
      <svg
        class="bars"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`The last ${attempts.length} attempts: ${share} acknowledged, p95 ${p95}`}
      >
        {attempts.map((attempt, index) => (
          <Bar
            key={`${attempt.delivery_id} ${attempt.number}`}
            attempt={attempt}
            x={WIDTH - (attempts.length - index) * STEP}
          />
        ))}
      </svg>
      <dl class="facts flex wraps">
        <Fact
          name="Acknowledged"
          title={`${acknowledged} of the last ${counted} attempts; what we made fail on purpose is left out`}
        >
          {share}
        </Fact>
        <Fact name="p95" title="95 of 100 answers took no longer">
          {p95}
        </Fact>
        <Fact name="Last answer">
          <a class={`toned ${attemptTone(last)}`} href={hrefTo(`/deliveries/${last.delivery_id}`)}>
            {outcomeWord(last)}
          </a>
          <span class="muted"> {timeOf(last.wall_started_at)}</span>
        </Fact>
      </dl>
    </div>
  );
}

function Bar({ attempt, x }: { attempt: Attempt; x: number }) {
  const share = Math.log10(Math.max(1, attempt.duration_ms ?? 1)) / LONGEST;
  const height = LOWEST + Math.min(1, share) * (HEIGHT - LOWEST);
  return (
    <rect
      class={`bar ${attemptTone(attempt)}`}
      x={x}
      y={HEIGHT - height}
      width={STEP - 2}
      height={height}
      rx="1"
    >
      <title>{`${outcomeWord(attempt)}, ${millisecondsOf(attempt.duration_ms)}`}</title>
    </rect>
  );
}

/** Nearly all is not all, and next to nothing is not nothing. */
function percentOf(part: number, whole: number): number | string {
  const percent = (part / whole) * 100;
  if (percent > 99 && part < whole) return Math.min(99.9, Math.floor(percent * 10) / 10);
  return part > 0 && percent < 1 ? "< 1" : Math.round(percent);
}
