import { Command, Option } from "commander";
import { STATE_WORDS } from "../domain/outcome.ts";
import { addSimulatorOptions, createControlClient, listPath, type SimulatorFlags } from "./control-client.ts";
import { answerLines } from "./first-attempts.ts";
import {
  deliveryDetailSchema,
  deliverySchema,
  listOf,
  recoverySchema,
  type DeliveryDetailShape,
  type DeliveryShape,
} from "../domain/shapes.ts";
import { usageError } from "./command-error.ts";
import { defaultCommand } from "./default-command.ts";
import { wholeNumber } from "./option-values.ts";
import { createOutput, type Output, timeText } from "./output.ts";
import { ourCommand } from "../text/invocation.ts";

type RecoverFlags = SimulatorFlags & {
  state?: string;
  type?: string;
  endpoint?: string;
  text?: string;
  since?: string;
  until?: string;
  dryRun?: boolean;
};
type ListFlags = SimulatorFlags & { state?: string; endpoint?: string; event?: string; limit: number };

/** `deliveries list|show|resend`: what was delivered, what was not, and why. */
export default function deliveriesCommand(): Command {
  const command = new Command("deliveries").description("what was delivered, what was not, and why");

  addSimulatorOptions(defaultCommand(command, "list"))
    .description("the newest deliveries")
    .addOption(new Option("--state <state>", "only these").choices(STATE_WORDS))
    .option("--endpoint <id>", "only to this endpoint")
    .option("--event <id>", "only of this event")
    .option("--limit <number>", "how many", wholeNumber(1, 1_000), 20)
    .action(async (flags: ListFlags) => {
      const output = createOutput(flags);
      const { state, endpoint, event, limit } = flags;
      const path = listPath("/deliveries", { limit, state, endpoint_id: endpoint, event_id: event });
      const list = await createControlClient(flags).get(path, listOf(deliverySchema));
      output.value(list);
      const isAsked = [state, endpoint, event].some((word) => word !== undefined);
      if (list.data.length === 0 && isAsked) {
        output.note(`No delivery is so. All there are:  ${ourCommand("deliveries list", flags)}`);
        return;
      }
      if (list.data.length === 0) {
        output.note(`No deliveries. Let something happen: ${ourCommand("trigger call.completed", flags)}`);
        return;
      }
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
      if (delivery.next_attempt_at !== null) {
        rows.push(["Next", `${timeText(delivery.next_attempt_at)} of schedule time`]);
      }
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
        output.note(`\nOnce it is mended:  ${ourCommand(["deliveries", "resend", delivery.id], flags)}`);
    });

  addSimulatorOptions(command.command("resend"))
    .description(
      "deliver the same events to the same endpoints again, as new deliveries: those named, or all that match",
    )
    .argument("[ids...]")
    .addOption(new Option("--state <state>", "all that are so").choices(STATE_WORDS))
    .option("--type <type>", "all of this event type")
    .option("--endpoint <id>", "all to this endpoint")
    .option("--text <words>", "all that have these words in them")
    .option("--since <time>", "all created since then: 1h, or 2026-01-31T18:00:00Z")
    .option("--until <time>", "all created before then")
    .option("--dry-run", "only say what would be sent")
    .action(async (ids: string[], flags: RecoverFlags) => recover(ids, flags));

  return command;
}

/** Sends deliveries again by their ids, or by what they have in common. */
async function recover(ids: string[], flags: RecoverFlags): Promise<void> {
  const output = createOutput(flags);
  const client = createControlClient(flags);
  const { state, type, endpoint, text, since, until, dryRun } = flags;
  const search = { state, type, endpoint_id: endpoint, q: text, since, until };
  const isSearch = Object.values(search).some((value) => value !== undefined);
  if (ids.length > 0 === isSearch)
    throw usageError(
      `Name deliveries by their ids, or choose them by --state, --type, --endpoint, --text, --since or --until${isSearch ? ", not both" : ""}. All that gave up and was not sent again since: deliveries resend --state lost`,
    );
  if (ids.length > 0) {
    if (dryRun === true)
      throw usageError("--dry-run is for what is chosen by options: ids say by themselves what is sent.");
    for (const id of ids) {
      const sent = await client.post(`/deliveries/${encodeURIComponent(id)}/resend`, {}, deliverySchema);
      output.value(sent);
      output.line(`Sent again as ${sent.id}.`);
      output.note(`How it went:  ${ourCommand(["deliveries", "show", sent.id], flags)}`);
    }
    return;
  }
  const found = await client.post("/deliveries/resend", { ...search, dry_run: dryRun }, recoverySchema);
  output.value(found);
  for (const { endpoint_id: id, event_type: kind, count } of found.counts)
    output.line(`${count} ${kind} to ${id}`);
  const more = found.has_more ? " There is more: say it again." : "";
  if (found.total === 0) {
    const clock = (since ?? until) ? " Times are those of the schedule clock." : "";
    output.note(`No delivery matches, or each that does was sent again since.${clock}`);
  } else if (dryRun === true) output.note(`${found.total} would be sent again; nothing was sent.${more}`);
  else output.note(`${found.total} sent again.${more}  How it goes:  ${ourCommand("deliveries", flags)}`);
}

/** What the receiver said with its answers; the same again is not repeated. */
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
