import { setTimeout as pause } from "node:timers/promises";
import { Command } from "commander";
import { CAUSES } from "../domain/causes.ts";
import {
  addSimulatorOptions,
  type ControlClient,
  createControlClient,
  listPath,
  type SimulatorFlags,
} from "./control-client.ts";
import { answerLines } from "./first-attempts.ts";
import { countSchema, type CountShape, jobSchema, type JobShape } from "../domain/job-shapes.ts";
import {
  deliveryDetailSchema,
  deliverySchema,
  listOf,
  type DeliveryDetailShape,
  type DeliveryShape,
} from "../domain/shapes.ts";
import { EXIT, usageError } from "./command-error.ts";
import { defaultCommand } from "./default-command.ts";
import { wholeNumber } from "./option-values.ts";
import { interruptible } from "./interrupt.ts";
import { createOutput, type Output, timeText } from "./output.ts";
import { addSelectionOptions, selectedBy, SELECTION_OPTIONS } from "./selection.ts";
import { ourCommand } from "../text/invocation.ts";

const LOOK_EVERY_MS = 100;

export default function deliveriesCommand(): Command {
  const command = new Command("deliveries").description("each event at each endpoint, and how it ended");

  addSelectionOptions(addSimulatorOptions(defaultCommand(command, "list")))
    .description("the newest deliveries, or those that match every option")
    .option("--limit <number>", "how many", wholeNumber(1, 1_000), 20)
    .action(async ({ limit, ...flags }: SimulatorFlags & { limit: number }, own: Command) => {
      const output = createOutput(flags);
      const client = createControlClient(flags);
      const selection = selectedBy(own);
      const list = await client.get(listPath("/deliveries", { ...selection, limit }), listOf(deliverySchema));
      output.value(list);
      if (list.data.length === 0 && Object.keys(selection).length > 0)
        return output.note(`No delivery matches. List all:  ${ourCommand("deliveries list", flags)}`);
      if (list.data.length === 0)
        return output.note(
          `No deliveries. Trigger an event:  ${ourCommand("trigger call.completed", flags)}`,
        );
      output.list(
        ["DELIVERY", "EVENT", "TYPE", "ENDPOINT", "STATE", "ATTEMPTS", "LAST", "NEXT (schedule)"],
        list.data.map((delivery) => [
          delivery.id,
          delivery.event_id,
          delivery.event_type ?? "",
          delivery.endpoint_id,
          stateText(delivery, output),
          String(delivery.attempts.length),
          lastResult(delivery),
          timeText(delivery.next_attempt_at),
        ]),
      );
      if (list.data.length === limit) {
        const { total } = await client.get(listPath("/counts", selection), countSchema);
        if (total > limit) output.note(`\n${limit} of ${total}; more with --limit.`);
      }
      const stuck = list.data.find(({ verdict }) => verdict.why !== null);
      if (stuck) output.note(`\nWhat went wrong:  ${ourCommand(["deliveries", "show", stuck.id], flags)}`);
    });

  addSimulatorOptions(command.command("show"))
    .description("one delivery with all of its attempts, and what is wrong with it")
    .argument("<id>")
    .action(async (id: string, flags: SimulatorFlags) => {
      const output = createOutput(flags);
      const path = `/deliveries/${encodeURIComponent(id)}`;
      const delivery = await createControlClient(flags).get(path, deliveryDetailSchema);
      output.value(delivery);
      const rows = [
        ["Delivery", delivery.id],
        ["Event", `${delivery.event_id}  ${delivery.event_type ?? ""}`],
        ["Endpoint", `${delivery.endpoint_id}  ${delivery.url ?? "deleted"}`],
        ["State", stateText(delivery, output)],
        ["Verdict", delivery.verdict.sentence],
      ];
      const { cause } = delivery.verdict;
      if (cause !== null) rows.push(["Cause", `${cause}: ${CAUSES[cause].words}`]);
      if (delivery.next_attempt_at !== null)
        rows.push(["Next", `${timeText(delivery.next_attempt_at)} of schedule time`]);
      output.table(rows);
      output.line();
      output.list(
        ["#", "STARTED (schedule)", "TOOK", "RESULT"],
        delivery.attempts.map((attempt) => [
          String(attempt.number),
          timeText(attempt.started_at),
          attempt.duration_ms === null ? "" : `${attempt.duration_ms} ms`,
          [resultOf(attempt), attempt.error_detail ?? ""].join("  ").trimEnd(),
        ]),
      );
      printAnswers(delivery, output);
      if (delivery.verdict.why !== null) {
        output.line();
        output.line(delivery.verdict.why);
      }
      if (delivery.state === "dead")
        output.note(`\nOnce it is fixed:  ${ourCommand(["deliveries", "resend", delivery.id], flags)}`);
    });

  addSelectionOptions(addSimulatorOptions(command.command("resend")))
    .description(
      "deliver the same events to the same endpoints again, as new deliveries: the given ids, or the last ones that match every option",
    )
    .argument("[ids...]")
    .option("--dry-run", "only print what would be sent")
    .action(async (ids: string[], flags: SimulatorFlags & { dryRun?: true }, own: Command) => {
      const selection = selectedBy(own);
      if (ids.length > 0 === Object.keys(selection).length > 0)
        throw usageError(
          `Give ids, or choose deliveries by ${SELECTION_OPTIONS.join(", ")}${ids.length > 0 ? ", not both" : ""}. To resend all that gave up and were not sent again: deliveries resend --state lost`,
        );
      if (ids.length > 0 && flags.dryRun === true)
        throw usageError("--dry-run works with options such as --state, not with ids.");
      if (ids.length > 0) await resendEach(ids, flags);
      else await resendSelected(selection, flags);
    });

  addSimulatorOptions(command.command("jobs"))
    .description("list the resends by options, newest first")
    .action(async (flags: SimulatorFlags) => {
      const output = createOutput(flags);
      const list = await createControlClient(flags).get("/jobs", listOf(jobSchema));
      output.value(list);
      output.list(
        ["JOB", "STATE", "SENT", "ACKNOWLEDGED", "FAILED", "BEGUN (schedule)", "SELECTION"],
        list.data.map((job) => [
          job.id,
          job.state,
          `${job.sent} of ${job.total ?? "?"}`,
          String(job.acknowledged),
          String(job.failed),
          timeText(job.created_at),
          Object.entries(job.selection)
            .map(([name, value]) =>
              Array.isArray(value) ? `${value.length} chosen` : `${name}=${String(value)}`,
            )
            .join(" "),
        ]),
      );
    });

  return command;
}

async function resendEach(ids: readonly string[], flags: SimulatorFlags): Promise<void> {
  const output = createOutput(flags);
  const client = createControlClient(flags);
  for (const id of ids) {
    const sent = await client.post(`/deliveries/${encodeURIComponent(id)}/resend`, {}, deliverySchema);
    output.value(sent);
    output.line(`Sent again as ${sent.id}.`);
    output.note(`See it:  ${ourCommand(["deliveries", "show", sent.id], flags)}`);
  }
}

/** Sends again what a selection matches, as a job of the simulator; Ctrl-C cancels it. */
async function resendSelected(
  selection: Record<string, string>,
  flags: SimulatorFlags & { dryRun?: true },
): Promise<void> {
  const output = createOutput(flags);
  const client = createControlClient(flags);
  const isDry = flags.dryRun === true;
  const found: CountShape | JobShape = isDry
    ? await client.post("/deliveries/resend", { ...selection, dry_run: true }, countSchema)
    : await jobEnded(await client.post("/deliveries/resend", selection, jobSchema), client, output);
  output.value(found);
  for (const { endpoint_id: id, event_type: type, count } of found.counts)
    output.line(`${count} ${type} to ${id}`);
  if (found.total === 0) {
    const isTimed = ["since", "until", "gave_up_since", "gave_up_until"].some((field) => field in selection);
    const clock = isTimed ? " Times are those of the schedule clock." : "";
    output.note(`Nothing to send: no delivery matches, or all that match were sent again already.${clock}`);
  } else if ("sent" in found) {
    const rest = found.state === "done" ? "" : ` of ${found.total ?? "?"}; ${found.problem ?? found.state}`;
    output.note(`${found.sent} sent again${rest}.  See them:  ${ourCommand("deliveries", flags)}`);
    if (found.state !== "done") process.exitCode = EXIT.couldNotRun;
  } else output.note(`${found.total} would be sent again; nothing was sent.`);
}

function jobEnded(begun: JobShape, client: ControlClient, output: Output): Promise<JobShape> {
  const path = `/jobs/${encodeURIComponent(begun.id)}`;
  return interruptible(async (signal) => {
    let job = begun;
    while (job.ended_at === null) {
      output.progress(job.total === null ? "counting" : `${job.sent} of ${job.total} sent again`);
      await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      // It may have ended meanwhile: no error.
      if (signal.aborted) await client.post(`${path}/cancel`, {}, jobSchema).catch(() => {});
      job = await client.get(path, jobSchema);
    }
    return job;
  }).finally(() => output.clearProgress());
}

/** Prints the receiver's answers, each repeated one only once. */
function printAnswers({ attempts }: DeliveryDetailShape, output: Output): void {
  let before: string | undefined;
  for (const { number, answer } of attempts) {
    const lines = answerLines(answer);
    if (lines.length === 0 || answer?.body === before) continue;
    before = answer?.body;
    output.line();
    output.line(output.style("dim", `Answered on attempt ${number}:`));
    for (const line of lines) output.line(`  ${line}`);
  }
}

function stateText(delivery: DeliveryShape, output: Output): string {
  const colour = delivery.state === "delivered" ? "green" : delivery.state === "dead" ? "red" : "yellow";
  return output.style(colour, delivery.state);
}

function lastResult(delivery: DeliveryShape): string {
  const last = delivery.attempts.at(-1);
  return last ? resultOf(last) : "";
}

function resultOf(attempt: DeliveryShape["attempts"][number]): string {
  return String(attempt.http_status ?? attempt.error ?? "under way");
}
