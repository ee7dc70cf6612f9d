import { Command } from "commander";
import { EVENT_TYPES } from "../../shared/events.ts";
import { assignments } from "./assignments.ts";
import { CommandError, EXIT } from "./command-error.ts";
import {
  addSimulatorOptions,
  createControlClient,
  type ControlClient,
  type SimulatorFlags,
} from "./control-client.ts";
import { emittedSchema, scenarioSchema, storySchema } from "./control-schemas.ts";
import { collect, faultsOf, wholeNumber } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import { OPTION_BOUNDS } from "../option-bounds.ts";
import { scenariosOf } from "./scenario-files.ts";
import { ourCommand } from "../invocation.ts";

type Flags = SimulatorFlags & {
  set: string[];
  setJson?: string;
  count: number;
  org?: string;
  fault: string[];
};

const SHOWN_EVENTS = 20;

/** `trigger`: lets something happen in the simulated world, which sends the event; or a whole story. */
export function triggerCommand(): Command {
  return addSimulatorOptions(new Command("trigger"))
    .description(
      `let something happen: ${EVENT_TYPES.join(", ")}; or tell a story of several events: ` +
        "busy-friday, after-hours-voicemail, failed-transfer, order-then-complaint, outage, or a file of your own",
    )
    .argument("<what>", "an event type, the name of a scenario, or a scenario file (.json)")
    .option(
      "--set <path=value>",
      "a field of data.object, such as outcome=completed (repeatable)",
      collect,
      [],
    )
    .option("--set-json <object>", 'many fields at once, such as \'{"items":[{"name":"Margherita"}]}\'')
    .option("--count <number>", "how many", wholeNumber(...OPTION_BOUNDS.count), 1)
    .option("--org <id>", "in this organization")
    .option(
      "--fault <name[:n]>",
      "do this wrong on every (or the first n) attempts (repeatable)",
      collect,
      [],
    )
    .action(async (what: string, flags: Flags) => {
      const output = createOutput({ json: flags.json === true });
      const client = createControlClient(flags);
      // Event types have a period in their names, and names of scenarios have none.
      const isStory = what.endsWith(".json") || !what.includes(".");
      if (isStory) await tell(what, { client, flags, output });
      else await emit(what, { client, flags, output });
    });
}

type Context = { client: ControlClient; flags: Flags; output: Output };

async function emit(type: string, { client, flags, output }: Context): Promise<void> {
  const object = assignments(type, flags.set, flags.setJson);
  faultsOf(flags.fault);
  const answer = await client.post(
    "/events",
    {
      type,
      count: flags.count,
      object,
      org_id: flags.org,
      faults: flags.fault,
    },
    emittedSchema,
  );
  output.value(answer);
  for (const event of answer.events.slice(0, SHOWN_EVENTS)) output.line(`${event.type}  ${event.id}`);
  if (answer.events.length > SHOWN_EVENTS) output.line(`… and ${answer.events.length - SHOWN_EVENTS} more`);
  const [first] = answer.deliveries;
  output.note(
    first === undefined
      ? `\nNo endpoint wants it. Register one:  ${ourCommand("endpoints add http://localhost:3000/webhooks", flags)}`
      : `\nHow it went:  ${ourCommand(["deliveries", "show", first.id], flags)}`,
  );
}

async function tell(what: string, { client, flags, output }: Context): Promise<void> {
  if (flags.set.length > 0 || flags.setJson !== undefined || flags.count !== 1 || flags.fault.length > 0) {
    throw new CommandError(
      `--set, --count and --fault belong to one event type; ${what} is a story, which has its own.`,
      EXIT.wrongUsage,
    );
  }
  const name = what.endsWith(".json") ? await addScenario(what, client) : what;
  const story = await client.post(`/scenarios/${encodeURIComponent(name)}`, {}, storySchema);
  output.value(story);
  output.line(`${output.style("bold", story.name)}  ${story.summary}`);
  output.line(`${story.steps} steps until ${story.ends_at.slice(0, 19).replace("T", " ")} of schedule time`);
  output.note(`\nTo its end at once:  ${ourCommand("clock run", flags)}`);
}

async function addScenario(file: string, client: ControlClient): Promise<string> {
  const [scenario] = scenariosOf([file]);
  return (await client.post("/scenarios", scenario, scenarioSchema)).name;
}
