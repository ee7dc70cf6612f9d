import { Argument, Command } from "commander";
import type { z } from "zod";
import { CLOCK_MODES } from "../domain/clock.ts";
import { DURATIONS, parseDuration } from "../domain/duration.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import { usageError } from "./command-error.ts";
import { addSimulatorOptions, createControlClient, type SimulatorFlags } from "./control-client.ts";
import { clockSchema } from "../domain/shapes.ts";
import { defaultCommand } from "./default-command.ts";
import { createOutput, timeText } from "./output.ts";
import { ourCommand } from "../text/invocation.ts";

const PROGRESS_EVERY_MS = 500;

export default function clockCommand(): Command {
  const command = new Command("clock").description("schedule time: show it, move it");

  addSimulatorOptions(defaultCommand(command, "show"))
    .description("mode, schedule time, and when the next attempt is due")
    .action(async (flags: SimulatorFlags) => {
      print(await createControlClient(flags).get("/clock", clockSchema), flags);
    });

  addSimulatorOptions(command.command("advance"))
    .description("move schedule time forward; returns when the attempts that fell due were made")
    .argument("[duration]", "such as 90s, 5m, 12h, or `next` for the next due attempt")
    .action((text: string | undefined, flags: SimulatorFlags) =>
      move(flags, stepOf(text), "Making the attempts that fall due"),
    );

  addSimulatorOptions(command.command("run"))
    .description("move schedule time forward until every delivery is delivered or dead")
    .action((flags: SimulatorFlags) => move(flags, { until: "idle" }, "Running the schedule to its end"));

  addSimulatorOptions(command.command("mode"))
    .description(
      "change how schedule time runs: real; skip jumps to what is due next; manual waits for `clock advance`",
    )
    .addArgument(new Argument("<mode>").choices(CLOCK_MODES))
    .action(async (mode: string, flags: SimulatorFlags) => {
      print(await createControlClient(flags).patch("/clock", { mode }, clockSchema), flags);
    });

  return command;
}

type Step = { until: "next" | "idle" } | { seconds: number };

function stepOf(text?: string): Step {
  if (text === "next") return { until: "next" };
  const [least, most] = OPTION_BOUNDS.advanceSeconds;
  const seconds = parseDuration(text ?? "") ?? Infinity;
  if (seconds >= least && seconds <= most) return { seconds };
  throw usageError(
    `${text === undefined ? "No duration given." : `${text} is not a valid duration.`} Give clock advance a duration such as ${DURATIONS}, of ${most / 86_400}d at most, or \`next\` for the next due attempt. To the end of the schedule: clock run`,
  );
}

async function move(flags: SimulatorFlags, step: Step, doing: string): Promise<void> {
  const output = createOutput(flags);
  const client = createControlClient(flags);
  output.progress(`${doing} …`);
  // Thousands of attempts may fall due on the way.
  const over = new AbortController();
  const ticker = setInterval(() => {
    client.get("/clock", clockSchema).then(
      ({ deliveries }) => over.signal.aborted || output.progress(`${doing}: ${countsText(deliveries)}`),
      () => {},
    );
  }, PROGRESS_EVERY_MS);
  const clock = await client.post("/clock/advance", step, clockSchema).finally(() => {
    clearInterval(ticker);
    over.abort();
  });
  output.clearProgress();
  print(clock, flags);
}

function print(clock: z.input<typeof clockSchema>, flags: SimulatorFlags): void {
  const output = createOutput(flags);
  output.value(clock);
  output.table([
    ["Mode", clock.mode],
    ["Schedule time", timeText(clock.now)],
    ["Next attempt", clock.next_attempt_at === null ? "none is due" : timeText(clock.next_attempt_at)],
    ["Deliveries", countsText(clock.deliveries)],
  ]);
  if (clock.next_attempt_at !== null && clock.mode === "manual")
    output.note(`\nTo the next attempt:  ${ourCommand("clock advance next", flags)}`);
}

function countsText(deliveries: Record<string, number>): string {
  return Object.entries(deliveries)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ");
}
