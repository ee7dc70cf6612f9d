import { Command, Option } from "commander";
import type { z } from "zod";
import { addSimulatorOptions, createControlClient, type SimulatorFlags } from "./control-client.ts";
import { emittedSchema, endpointSchema, listOf, registeredSchema } from "../domain/shapes.ts";
import { defaultCommand } from "./default-command.ts";
import { durationSeconds, eventSelection, faultOption, faultsOf, webUrl } from "./option-values.ts";
import { OVERLAP_SECONDS } from "../domain/endpoints.ts";
import { formatFault } from "../domain/faults.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import { usageError } from "./command-error.ts";
import { secretHint, wantSecret } from "./secret-option.ts";
import { createOutput, type Output } from "./output.ts";
import { ourCommand } from "../text/invocation.ts";

type SettingFlags = SimulatorFlags & { events?: string[]; org?: string; fault: string[]; faults?: boolean };

export default function endpointsCommand(): Command {
  const command = new Command("endpoints").description("where events are delivered");

  addSimulatorOptions(defaultCommand(command, "list"))
    .description("every endpoint, and whether its failures flag it")
    .action(async (flags: SimulatorFlags) => {
      const output = createOutput(flags);
      const list = await createControlClient(flags).get("/endpoints", listOf(endpointSchema));
      output.value(list);
      if (list.data.length === 0)
        return output.note(
          `No endpoints. Register one:  ${ourCommand(["endpoints", "add", EXAMPLE], flags)}`,
        );
      output.list(
        ["ENDPOINT", "URL", "EVENTS", "FAILURES", "FAULTS"],
        list.data.map((endpoint) => [
          endpoint.id,
          endpoint.url,
          selectionText(endpoint.event_types),
          failuresText(endpoint, output),
          endpoint.faults.join(" "),
        ]),
      );
    });

  addSettings(command.command("add"), "all when absent")
    .description("register an endpoint; prints its signing secret, which nothing shows again")
    .argument("<url>", "https, or http on localhost", webUrl)
    .option("--secret <secret>", "its signing secret; @FILE reads it from a file; generated when absent")
    .action(async (url: string, flags: SettingFlags & { secret?: string }) => {
      const output = createOutput(flags);
      const body = { url, ...settingsOf(flags), secret: flags.secret && wantSecret(flags.secret) };
      const endpoint = await createControlClient(flags).post("/endpoints", body, registeredSchema);
      output.value(endpoint);
      output.table([
        ["Endpoint", endpoint.id],
        ["URL", endpoint.url],
        ["Events", selectionText(endpoint.event_types)],
        ["Secret", endpoint.secret],
      ]);
      output.note("\nThe secret is shown this once: your receiver needs it as SIGNING_SECRET.");
      output.note(`Try it:  ${ourCommand(["endpoints", "test", endpoint.id], flags)}`);
    });

  addSimulatorOptions(command.command("show"))
    .description("one endpoint")
    .argument("<id>")
    .action(async (id: string, flags: SimulatorFlags) => {
      const output = createOutput(flags);
      print(await createControlClient(flags).get(pathOf(id), endpointSchema), output);
      output.note(`\nIts deliveries:  ${ourCommand(["deliveries", "--endpoint", id], flags)}`);
    });

  addSettings(command.command("change"), "as before when absent, all where empty ('')")
    .description("change an endpoint; its secret stays")
    .argument("<id>")
    .option("--url <url>", "its new address", webUrl)
    .option("--no-faults", "remove its faults")
    .action(async (id: string, flags: SettingFlags & { url?: string }) => {
      const body = { url: flags.url, ...settingsOf(flags) };
      if (Object.values(body).every((value) => value === undefined))
        throw usageError("Say what to change: --url, --events, --org, --fault or --no-faults.");
      const endpoint = await createControlClient(flags).patch(pathOf(id), body, endpointSchema);
      print(endpoint, createOutput(flags));
    });

  addSimulatorOptions(command.command("rotate"))
    .description("give an endpoint a new signing secret, and print it; nothing shows it again")
    .argument("<id>")
    .option("--secret <secret>", "the new one; @FILE reads it from a file; generated when absent")
    .addOption(
      new Option("--overlap <duration>", "how long the old one keeps signing, in schedule time")
        .argParser(durationSeconds)
        .default(OVERLAP_SECONDS, "24h"),
    )
    .action(async (id: string, flags: SimulatorFlags & { secret?: string; overlap: number }) => {
      const output = createOutput(flags);
      const [, most] = OPTION_BOUNDS.overlapSeconds;
      if (flags.overlap > most) throw usageError(`--overlap: give ${most / 86_400}d at most.`);
      const body = { overlap_seconds: flags.overlap, secret: flags.secret && wantSecret(flags.secret) };
      const endpoint = await createControlClient(flags).post(`${pathOf(id)}/rotate`, body, registeredSchema);
      output.value(endpoint);
      const isOver = flags.overlap === 0;
      const until = isOver ? "signs no longer" : `signs until ${endpoint.previous_secret_until}`;
      output.table([
        ["Endpoint", endpoint.id],
        ["Secret", endpoint.secret],
        ["Before", `${secretHint(endpoint.previous_secret_last4)}, ${until}`],
      ]);
      const both = isOver ? "" : " A receiver takes both meanwhile: SIGNING_SECRET=NEW,OLD";
      output.note(`\nThe secret is shown this once.${both}`);
    });

  addSimulatorOptions(command.command("remove"))
    .description("remove an endpoint; its waiting deliveries are dead")
    .argument("<id>")
    .action(async (id: string, flags: SimulatorFlags) => {
      const output = createOutput(flags);
      await createControlClient(flags).remove(pathOf(id));
      output.value({ object: "endpoint", id, deleted: true });
      output.line(`Removed ${id}.`);
    });

  addSimulatorOptions(command.command("test"))
    .description("send a synthetic call.completed to one endpoint, as the dashboard's button does")
    .argument("<id>")
    .action(async (id: string, flags: SimulatorFlags) => {
      const output = createOutput(flags);
      const sent = await createControlClient(flags).post(`${pathOf(id)}/test`, {}, emittedSchema);
      output.value(sent);
      for (const event of sent.events) output.line(`${event.type}  ${event.id}`);
      const delivery = sent.deliveries[0]?.id ?? "";
      output.note(`\nSee it:  ${ourCommand(["deliveries", "show", delivery], flags)}`);
    });

  return command;
}

const EXAMPLE = "http://localhost:3000/webhooks";

function addSettings(command: Command, absent: string): Command {
  return addSimulatorOptions(command)
    .option("--events <types>", `its event types, separated by commas; ${absent}`, eventSelection)
    .option("--org <id>", `only events of this organization; ${absent}`)
    .addOption(faultOption());
}

function settingsOf(flags: SettingFlags) {
  const isWithoutFaults = flags.faults === false;
  if (isWithoutFaults && flags.fault.length > 0) throw usageError("Give --fault or --no-faults, not both.");
  const faults = faultsOf(flags.fault).map(formatFault);
  return {
    event_types: flags.events,
    org_id: flags.org === "" ? null : flags.org,
    // An empty list removes the endpoint's faults.
    faults: isWithoutFaults || faults.length > 0 ? faults : undefined,
  };
}

function pathOf(id: string): string {
  return `/endpoints/${encodeURIComponent(id)}`;
}

function print(endpoint: z.input<typeof endpointSchema>, output: Output): void {
  output.value(endpoint);
  output.table([
    ["Endpoint", endpoint.id],
    ["URL", endpoint.url],
    ["Events", selectionText(endpoint.event_types)],
    ["Organization", endpoint.org_id ?? "all"],
    ["Secret", secretHint(endpoint.secret_last4)],
    ["Failures", failuresText(endpoint, output)],
    ["Faults", endpoint.faults.length === 0 ? "none" : endpoint.faults.join(" ")],
  ]);
}

function selectionText(types: readonly string[]): string {
  return types.length === 0 ? "all" : types.join(", ");
}

function failuresText(endpoint: z.input<typeof endpointSchema>, output: Output): string {
  const count = `${endpoint.consecutive_failures} in a row`;
  return endpoint.flagged ? output.style("red", `flagged, ${count}`) : count;
}
