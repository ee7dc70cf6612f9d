import { Command } from "commander";
import { addSimulatorOptions, createControlClient, listPath, type SimulatorFlags } from "./control-client.ts";
import { eventDetailSchema, eventSchema, listOf } from "../domain/shapes.ts";
import { defaultCommand } from "./default-command.ts";
import { wholeNumber } from "./option-values.ts";
import { createOutput, timeText } from "./output.ts";
import { ourCommand } from "../text/invocation.ts";

type ListFlags = SimulatorFlags & { type?: string; limit: number };

export default function eventsCommand(): Command {
  const command = new Command("events").description("events that happened");

  addSimulatorOptions(defaultCommand(command, "list"))
    .description("the newest events")
    .option("--type <type>", "only these")
    .option("--limit <number>", "how many", wholeNumber(1, 1_000), 20)
    .action(async (flags: ListFlags) => {
      const output = createOutput(flags);
      const path = listPath("/events", { limit: flags.limit, type: flags.type });
      const list = await createControlClient(flags).get(path, listOf(eventSchema));
      output.value(list);
      if (list.data.length === 0 && flags.type !== undefined)
        return output.note(`No event has the type ${flags.type}. List all:  ${ourCommand("events", flags)}`);
      if (list.data.length === 0)
        return output.note(`No events. Trigger one:  ${ourCommand("trigger call.completed", flags)}`);
      output.list(
        ["EVENT", "TYPE", "ORGANIZATION", "ORIGIN", "CREATED (schedule)"],
        list.data.map((one) => [one.id, one.type, one.org_id, one.origin, timeText(one.created_at)]),
      );
    });

  addSimulatorOptions(command.command("show"))
    .description("the envelope of one event, and its deliveries")
    .argument("<id>")
    .action(async (id: string, flags: SimulatorFlags) => {
      const output = createOutput(flags);
      const path = `/events/${encodeURIComponent(id)}`;
      const event = await createControlClient(flags).get(path, eventDetailSchema);
      output.value(event);
      output.structure(event.envelope);
      for (const delivery of event.deliveries) {
        const last = delivery.attempts.at(-1);
        output.note(`${delivery.id}  ${delivery.state}  ${last?.http_status ?? last?.error ?? ""}`.trimEnd());
      }
      output.note(`\nSend it again:  ${ourCommand(["replay", id], flags)}`);
    });

  return command;
}
