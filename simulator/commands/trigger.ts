import { Command } from "commander";
import { EVENT_TYPES } from "../../shared/events.ts";
import { assignments } from "./assignments.ts";
import { addSimulatorOptions, createControlClient, type SimulatorFlags } from "./control-client.ts";
import { emissionsSchema } from "./control-schemas.ts";
import { collect, wholeNumber } from "./option-values.ts";
import { createOutput } from "./output.ts";

type Flags = SimulatorFlags & { set: string[]; count: number; org?: string; fault: string[] };

const MOST_EVENTS = 10_000;
const SHOWN_EVENTS = 20;

/** `trigger TYPE`: lets something happen in the simulated world, which sends the event. */
export function triggerCommand(): Command {
  return addSimulatorOptions(new Command("trigger"))
    .description(`let something happen: ${EVENT_TYPES.join(", ")}`)
    .argument("<type>", "the event type")
    .option(
      "--set <path=value>",
      "a field of data.object, such as outcome=completed (repeatable)",
      collect,
      [],
    )
    .option("--count <number>", "how many", wholeNumber(1, MOST_EVENTS), 1)
    .option("--org <id>", "in this organization")
    .option(
      "--fault <name[:n]>",
      "do this wrong on every (or the first n) attempts (repeatable)",
      collect,
      [],
    )
    .action(async (type: string, flags: Flags) => {
      const output = createOutput({ json: flags.json === true });
      const object = assignments(type, flags.set);
      const answer = await createControlClient(flags).post(
        "/events",
        {
          type,
          count: flags.count,
          ...(object && { object }),
          ...(flags.org !== undefined && { org_id: flags.org }),
          ...(flags.fault.length > 0 && { faults: flags.fault }),
        },
        emissionsSchema,
      );
      output.value(answer);
      for (const event of answer.events.slice(0, SHOWN_EVENTS)) output.line(`${event.type}  ${event.id}`);
      if (answer.events.length > SHOWN_EVENTS)
        output.line(`… and ${answer.events.length - SHOWN_EVENTS} more`);
      if (answer.deliveries.length === 0) {
        output.note(
          "\nNo endpoint wants it. Register one:  voice-agent-simulator endpoints add http://localhost:3000/webhooks",
        );
      } else {
        const [first] = answer.deliveries;
        output.note(`\nHow it went:  voice-agent-simulator deliveries show ${first?.id ?? ""}`);
      }
    });
}
