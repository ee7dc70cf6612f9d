import { Command, Option } from "commander";
import { DELIVERY_STATES } from "../domain/outcome.ts";
import { addSimulatorOptions, createControlClient, type SimulatorFlags } from "./control-client.ts";
import { deliverySchema, endpointSchema, listOf, type DeliveryValue } from "./control-schemas.ts";
import { defaultCommand } from "./default-command.ts";
import { wholeNumber } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import { ourCommand } from "../invocation.ts";

type ListFlags = SimulatorFlags & { state?: string; endpoint?: string; event?: string; limit: number };

/** `deliveries list|show|resend`: what was delivered, what was not, and why. */
export function deliveriesCommand(): Command {
  const command = new Command("deliveries").description("what was delivered, what was not, and why");

  addSimulatorOptions(defaultCommand(command, "list"))
    .description("the newest deliveries")
    .addOption(new Option("--state <state>", "only these").choices(DELIVERY_STATES))
    .option("--endpoint <id>", "only to this endpoint")
    .option("--event <id>", "only of this event")
    .option("--limit <number>", "how many", wholeNumber(1, 1_000), 20)
    .action(async (flags: ListFlags) => {
      const output = createOutput({ json: flags.json === true });
      const query = new URLSearchParams({ limit: String(flags.limit) });
      if (flags.state !== undefined) query.set("state", flags.state);
      if (flags.endpoint !== undefined) query.set("endpoint_id", flags.endpoint);
      if (flags.event !== undefined) query.set("event_id", flags.event);
      const list = await createControlClient(flags).get(
        `/deliveries?${query.toString()}`,
        listOf(deliverySchema),
      );
      output.value(list);
      const isAsked = [flags.state, flags.endpoint, flags.event].some((word) => word !== undefined);
      if (list.data.length === 0 && isAsked) {
        output.note(`No delivery is so. All there are:  ${ourCommand("deliveries list", flags)}`);
        return;
      }
      if (list.data.length === 0) {
        output.note(`No deliveries. Let something happen: ${ourCommand("trigger call.completed", flags)}`);
        return;
      }
      output.table([
        ["DELIVERY", "EVENT", "TYPE", "ENDPOINT", "STATE", "ATTEMPTS", "LAST", "NEXT (schedule)"].map(
          (title) => output.style("dim", title),
        ),
        ...list.data.map((delivery) => [
          delivery.id,
          delivery.event_id,
          delivery.event_type ?? "",
          delivery.endpoint_id,
          stateText(delivery, output),
          String(delivery.attempts.length),
          lastResult(delivery),
          shortTime(delivery.next_attempt_at),
        ]),
      ]);
      const stuck = list.data.find(({ verdict }) => verdict.why !== null);
      if (stuck) output.note(`\nWhat went wrong:  ${ourCommand(["deliveries", "show", stuck.id], flags)}`);
    });

  addSimulatorOptions(command.command("show"))
    .description("one delivery with all of its attempts, and what is wrong with it")
    .argument("<id>")
    .action(async (id: string, flags: SimulatorFlags) => {
      const output = createOutput({ json: flags.json === true });
      const client = createControlClient(flags);
      const delivery = await client.get(`/deliveries/${encodeURIComponent(id)}`, deliverySchema);
      output.value(delivery);
      const { data: endpoints } = await client.get("/endpoints", listOf(endpointSchema));
      const endpoint = endpoints.find((one) => one.id === delivery.endpoint_id);
      const rows = [
        ["Delivery", delivery.id],
        ["Event", `${delivery.event_id}  ${delivery.event_type ?? ""}`],
        ["Endpoint", `${delivery.endpoint_id}  ${endpoint?.url ?? "deleted"}`],
        ["State", stateText(delivery, output)],
        ["Verdict", delivery.verdict.sentence],
      ];
      if (delivery.next_attempt_at !== null) {
        rows.push(["Next", `${shortTime(delivery.next_attempt_at)} of schedule time`]);
      }
      output.table(rows);
      output.line();
      output.table([
        ["#", "STARTED (schedule)", "TOOK", "RESULT"].map((title) => output.style("dim", title)),
        ...delivery.attempts.map((attempt) => [
          String(attempt.number),
          shortTime(attempt.started_at),
          attempt.duration_ms === null ? "" : `${attempt.duration_ms} ms`,
          [resultOf(attempt), attempt.error_detail ?? ""].join("  ").trimEnd(),
        ]),
      ]);
      if (delivery.verdict.why !== null) {
        output.line();
        output.line(delivery.verdict.why);
      }
      if (delivery.state === "dead")
        output.note(`\nOnce it is mended:  ${ourCommand(["deliveries", "resend", delivery.id], flags)}`);
    });

  addSimulatorOptions(command.command("resend"))
    .description("deliver the same event to the same endpoint again, as a new delivery")
    .argument("<id>")
    .action(async (id: string, flags: SimulatorFlags) => {
      const output = createOutput({ json: flags.json === true });
      const path = `/deliveries/${encodeURIComponent(id)}/resend`;
      const delivery = await createControlClient(flags).post(path, {}, deliverySchema);
      output.value(delivery);
      output.line(`Sent again as ${delivery.id}.`);
      output.note(`How it went:  ${ourCommand(["deliveries", "show", delivery.id], flags)}`);
    });

  return command;
}

function stateText(delivery: DeliveryValue, output: Output): string {
  const colour = delivery.state === "delivered" ? "green" : delivery.state === "dead" ? "red" : "yellow";
  return output.style(colour, delivery.state);
}

function lastResult(delivery: DeliveryValue): string {
  const last = delivery.attempts.at(-1);
  return last ? resultOf(last) : "";
}

function resultOf(attempt: DeliveryValue["attempts"][number]): string {
  return String(attempt.http_status ?? attempt.error ?? "under way");
}

function shortTime(iso: string | null): string {
  return iso === null ? "" : iso.slice(0, 19).replace("T", " ");
}
