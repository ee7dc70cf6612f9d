import { useRef, useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { countOf, dayAndTimeOf, fullTimeOf, timeOf } from "../core/format.ts";
import { useKeys } from "../core/keys.ts";
import { clockFrom, scheduleNowMs, useLive } from "../core/live.ts";
import { attempt } from "../core/toasts.ts";
import type { ClockMode } from "../core/types.ts";
import { CLOCK_MODES } from "../core/words.ts";
import { Button } from "./button.tsx";
import { Segments } from "./code-view.tsx";
import { Countdown, useTick } from "./countdown.tsx";
import { Confirm, Dialog } from "./dialog.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { TimeStrip } from "./time-strip.tsx";

const MODES = (["real", "skip", "manual"] as const).map((mode) => [mode, ...CLOCK_MODES[mode]] as const);
type Step = {
  name: string;
  body: { until: string } | { seconds: number };
  words: string;
  icon?: IconName;
  title: string;
};

const STEPS = {
  next: {
    name: "next",
    body: { until: "next" },
    words: "Next",
    icon: "next",
    title: "Step to the next attempt (n)",
  },
  minute: { name: "minute", body: { seconds: 60 }, words: "+1 min", title: "Advance one minute (m)" },
  hour: { name: "hour", body: { seconds: 3_600 }, words: "+1 h", title: "Advance one hour (h)" },
  end: {
    name: "idle",
    body: { until: "idle" },
    words: "To the end",
    icon: "end",
    title: "Advance until nothing waits any more (Shift+E)",
  },
} satisfies Record<string, Step>;

/** Schedule time, how it runs, and the buttons that move it. */
export function ClockBar() {
  const { clock } = useLive();
  const [busy, setBusy] = useState<string>();
  const [isAsking, setAsking] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const queue = useRef(Promise.resolve());

  async function move({ name, body }: Step, before: Promise<void>) {
    await before;
    setBusy(name);
    await attempt(() => clockFrom(control.post("/clock/advance", body)));
    setBusy(undefined);
  }
  /** One step after the other: whoever presses a key three times means three steps. */
  function advance(step: Step) {
    queue.current = move(step, queue.current);
  }
  async function setMode(mode: ClockMode) {
    setAsking(false);
    await attempt(() => clockFrom(control.patch("/clock", { mode })));
  }
  const waiting = clock?.deliveries.attempting ?? 0;
  /** Skipping makes every attempt that waits, at once: whoever only wanted to look is asked first. */
  function chooseMode(mode: ClockMode) {
    if (mode === "skip" && clock?.mode !== "skip" && waiting > 0) setAsking(true);
    else void setMode(mode);
  }
  useKeys({
    n: () => advance(STEPS.next),
    m: () => advance(STEPS.minute),
    h: () => advance(STEPS.hour),
    E: () => advance(STEPS.end),
  });

  if (clock === undefined) return <div class="clock-bar flex" aria-busy="true" />;
  const waits = clock.next_attempt_at !== null;
  const buttons = Object.values<Step>(STEPS).map((step, index) => {
    const { name, body, words, icon, title } = step;
    return (
      <Button
        key={name}
        icon={icon}
        kind={`small ${index === 0 ? "first" : ""}`}
        busy={busy === name}
        title={title}
        disabled={!waits && "until" in body}
        onClick={() => advance(step)}
      >
        {words}
      </Button>
    );
  });
  const modes = <Segments label="Clock mode" value={clock.mode} options={MODES} onChange={chooseMode} />;

  return (
    <section class="clock-bar flex" aria-label="Schedule clock">
      <Now />
      {modes}
      <div class="clock-next nowrap">
        <span class="label">Next attempt</span>
        <span class="value">
          {clock.next_attempt_at !== null ? (
            <Countdown until={clock.next_attempt_at} />
          ) : (
            <span class="muted">none due</span>
          )}
        </span>
      </div>
      <div class="clock-buttons flex" role="group" aria-label="Move schedule time">
        {buttons}
      </div>
      <button
        type="button"
        class="icon-button clock-more"
        aria-label="The clock"
        onClick={() => setOpen(true)}
      >
        <Icon name="clock" size={17} />
      </button>
      {isOpen && (
        <Dialog title="Schedule clock" onClose={() => setOpen(false)}>
          <div class="dialog-body stack">
            <p class="muted">{CLOCK_MODES[clock.mode][1]}</p>
            {modes}
            <TimeStrip />
            <div class="actions flex wraps">{buttons}</div>
          </div>
        </Dialog>
      )}
      {isAsking && (
        <Confirm
          title="Skip all waiting?"
          action="Skip"
          keep="Keep waiting"
          tone="accent"
          onConfirm={() => setMode("skip")}
          onClose={() => setAsking(false)}
        >
          <p>
            {countOf(waiting, "delivery is", "deliveries are")} still in progress. With Skip, schedule time
            jumps from one due attempt to the next: all that is left of them is sent now, as fast as the
            receiver answers.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Now() {
  useTick();
  const nowMs = scheduleNowMs() ?? Date.now();
  const wall = new Date();
  const isOtherDay = dayAndTimeOf(nowMs).slice(0, 6) !== dayAndTimeOf(wall).slice(0, 6);
  const isAhead = Math.abs(nowMs - wall.getTime()) > 2_000;
  return (
    <div
      class="clock-now nowrap"
      title={`Schedule time: ${fullTimeOf(nowMs)}. Real time: ${fullTimeOf(wall)}.`}
    >
      <span class="label">{isAhead ? `Schedule, real ${timeOf(wall)}` : "Schedule time"}</span>
      <span class="value">
        <time datetime={new Date(nowMs).toISOString()}>
          {isOtherDay ? dayAndTimeOf(nowMs) : timeOf(nowMs)}
        </time>
      </span>
    </div>
  );
}
