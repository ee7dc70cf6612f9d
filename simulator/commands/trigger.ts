import { Command } from "commander";
import { EVENT_TYPES } from "../../shared/events.ts";
import { isSuccess } from "../domain/judgement.ts";
import { assignments } from "./assignments.ts";
import { usageError } from "./command-error.ts";
import {
  addSimulatorOptions,
  createControlClient,
  type ControlClient,
  type SimulatorFlags,
} from "./control-client.ts";
import {
  deliveryDetailSchema,
  emittedSchema,
  scenarioSchema,
  storySchema,
  type DeliveryShape,
} from "../domain/shapes.ts";
import {
  answerLines,
  attemptLine,
  countFirstResults,
  countsInWords,
  waitForFirstAttempts,
} from "./first-attempts.ts";
import { collect, faultOption, faultsOf, wholeNumber } from "./option-values.ts";
import { createOutput, type Output, timeText } from "./output.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import { scenariosOf } from "./scenario-files.ts";
import { ourCommand } from "../text/invocation.ts";

type Flags = SimulatorFlags & { set: string[]; count: number; org?: string; fault: string[]; wait: boolean };

const SHOWN_EVENTS = 20;

export default function triggerCommand(): Command {
  return addSimulatorOptions(new Command("trigger"))
    .description(
      `trigger an event: ${EVENT_TYPES.join(", ")}; or a scenario of several events: ` +
        "busy-friday, after-hours-voicemail, failed-transfer, order-then-complaint, outage, or a file of your own",
    )
    .argument("<what>", "an event type, the name of a scenario, or a scenario file (.json)")
    .option(
      "--set <path=value>",
      "a field of data.object, such as outcome=completed, or 'items=[…]' with JSON (repeatable)",
      collect,
      [],
    )
    .option("--count <number>", "how many events", wholeNumber(...OPTION_BOUNDS.count), 1)
    .option("--org <id>", "in this organization")
    .addOption(faultOption())
    .option("--no-wait", "do not wait for the first attempt")
    .action(async (what: string, flags: Flags) => {
      const output = createOutput(flags);
      const client = createControlClient(flags);
      // Event types have a period in their names, and names of scenarios have none.
      const isStory = what.endsWith(".json") || !what.includes(".");
      if (isStory) await runStory(what, { client, flags, output });
      else await emit(what, { client, flags, output });
    });
}

type Context = { client: ControlClient; flags: Flags; output: Output };

async function emit(type: string, { client, flags, output }: Context): Promise<void> {
  const object = assignments(type, flags.set);
  faultsOf(flags.fault);
  const answer = await client.post(
    "/events",
    { type, count: flags.count, object, org_id: flags.org, faults: flags.fault },
    emittedSchema,
  );
  const attempted = flags.wait ? await waitForFirstAttempts(client, answer, output) : undefined;
  output.value(attempted === undefined ? answer : { ...answer, deliveries: attempted });
  for (const event of answer.events.slice(0, SHOWN_EVENTS)) output.line(`${event.type}  ${event.id}`);
  if (answer.events.length > SHOWN_EVENTS) output.line(`… and ${answer.events.length - SHOWN_EVENTS} more`);
  const [first] = answer.deliveries;
  if (attempted !== undefined) await printResults(attempted, { client, flags, output });
  output.note(
    first === undefined
      ? `\nNo endpoint receives it. Register one:  ${ourCommand("endpoints add http://localhost:3000/webhooks", flags)}`
      : `\n${attempted === undefined ? "See it" : "Details"}:  ${ourCommand(["deliveries", "show", first.id], flags)}`,
  );
}

async function printResults(
  deliveries: readonly DeliveryShape[],
  { client, flags, output }: Context,
): Promise<void> {
  if (output.json || deliveries.length === 0) return;
  if (flags.count > 1) {
    output.line(`First attempts: ${countsInWords(countFirstResults(deliveries))}`);
    return;
  }
  for (const { id } of deliveries) {
    const delivery = await client.get(`/deliveries/${encodeURIComponent(id)}`, deliveryDetailSchema);
    const [attempt] = delivery.attempts;
    const url = attempt?.request.url ?? delivery.url ?? "";
    output.line(attemptLine(delivery, attempt, { url, id: delivery.endpoint_id, output }));
    if (isSuccess(attempt?.http_status ?? 0)) continue;
    for (const line of answerLines(attempt?.answer)) output.line(`  ${line}`);
  }
}

async function runStory(what: string, { client, flags, output }: Context): Promise<void> {
  const { set, count, fault, org } = flags;
  if (set.length > 0 || count !== 1 || fault.length > 0 || org !== undefined)
    throw usageError(
      `--set, --count, --fault and --org work with an event type only, and ${what} is a scenario.`,
    );
  const name = what.endsWith(".json") ? await addScenario(what, client) : what;
  const story = await client.post(`/scenarios/${encodeURIComponent(name)}`, {}, storySchema);
  output.value(story);
  output.line(`${output.style("bold", story.name)}  ${story.summary}`);
  output.line(`${story.events} events until ${timeText(story.ends_at)} of schedule time`);
  output.note(`\nTo its end at once:  ${ourCommand("clock run", flags)}`);
}

async function addScenario(file: string, client: ControlClient): Promise<string> {
  const [scenario] = scenariosOf([file]);
  return (await client.post("/scenarios", scenario, scenarioSchema)).name;
}
