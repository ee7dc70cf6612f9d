import { useRef, useState } from "preact/hooks";
import { type Step, STEPS, useKeys } from "../core/actions.ts";
import { control } from "../core/api.ts";
import { clockFrom, scheduleNowMs, useLive } from "../core/live.ts";
import { useAttempt } from "../core/toasts.ts";
import type { ClockMode } from "../core/types.ts";
import { CLOCK_MODES, countOf, fullTimeOf, momentOf, timeOf } from "../core/words.ts";
import { Button, IconButton, roam, Segments } from "./button.tsx";
import { Countdown, useTick } from "./chips.tsx";
import { Dialog, isMeant } from "./dialog.tsx";

const MODES = (["real", "skip", "manual"] as const).map((mode) => [mode, ...CLOCK_MODES[mode]] as const);

/** Schedule time, how it runs, and the buttons that move it. */
export function ClockBar() {
  const { clock } = useLive();
  const [busy, run] = useAttempt();
  const [isOpen, setOpen] = useState(false);
  const queue = useRef<Promise<unknown>>(Promise.resolve());

  /** One step after another: pressing a key three times means three steps. */
  function advance({ key, body }: Step) {
    queue.current = queue.current.then(() => run(key, () => clockFrom(control.post("/clock/advance", body))));
  }
  const waiting = clock?.deliveries.attempting ?? 0;
  /** Skipping makes every waiting attempt at once, so it asks for confirmation. */
  async function chooseMode(mode: ClockMode) {
    const words = `${countOf(waiting, "delivery is", "deliveries are")} still in progress. With Skip, schedule time jumps from one due attempt to the next: all remaining attempts are made now, as fast as the receiver answers.`;
    const question = { title: "Skip all waiting?", action: "Skip", keep: "Keep waiting", text: words };
    const mustAsk = mode === "skip" && clock?.mode !== "skip" && waiting > 0;
    if (mustAsk && !(await isMeant({ ...question, tone: "accent" }))) return;
    await run(mode, () => clockFrom(control.patch("/clock", { mode })));
  }
  useKeys(Object.fromEntries(STEPS.map((step) => [step.key, () => advance(step)])));

  if (clock === undefined) return <div class="clock-bar flex" aria-busy="true" />;
  const nextAt = clock.next_attempt_at;
  const buttons = STEPS.map((step, index) => (
    <Button
      key={step.key}
      icon={step.icon}
      kind={`small ${index === 0 ? "first" : ""}`}
      busy={busy === step.key}
      title={`${step.title} (${step.key})`}
      disabled={nextAt === null && "until" in step.body}
      tabindex={step.key === (nextAt === null ? "m" : "n") ? 0 : -1}
      onClick={() => advance(step)}
      words={step.words}
    />
  ));
  const modes = <Segments label="Clock mode" value={clock.mode} options={MODES} onChange={chooseMode} />;

  return (
    <section class="clock-bar flex" aria-label="Schedule clock">
      <Now />
      {modes}
      <div class="clock-next nowrap">
        <span class="tiny faint">Next attempt</span>
        <b>{nextAt !== null ? <Countdown until={nextAt} /> : <span class="muted">none due</span>}</b>
      </div>
      <div class="clock-buttons flex" role="group" aria-label="Move schedule time" onKeyDown={roam}>
        {buttons}
      </div>
      <IconButton icon="clock" size={17} kind="clock-more" label="The clock" onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title="Schedule clock" onClose={() => setOpen(false)}>
          <p class="muted">{CLOCK_MODES[clock.mode][1]}</p>
          {modes}
          <div class="actions flex wraps">{buttons}</div>
        </Dialog>
      )}
    </section>
  );
}

function Now() {
  useTick();
  const nowMs = scheduleNowMs() ?? Date.now();
  const wall = new Date();
  const isAhead = Math.abs(nowMs - wall.getTime()) > 2_000;
  return (
    <div class="clock-now nowrap" title={`Schedule time ${fullTimeOf(nowMs)}, real time ${fullTimeOf(wall)}`}>
      <span class="tiny faint">{isAhead ? `Schedule, real ${timeOf(wall)}` : "Schedule time"}</span>
      <b>
        <time datetime={new Date(nowMs).toISOString()}>{momentOf(nowMs, wall)}</time>
      </b>
    </div>
  );
}
