import { Command } from "commander";
import { bannerValue, printBanner } from "./banner.ts";
import { CommandError, EXIT } from "./command-error.ts";
import { untilInterrupted } from "./interrupt.ts";
import { printLiveLog } from "./live-log.ts";
import { eventSelection, webUrl } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import { addServeOptions, type ServeFlags } from "./serve-options.ts";
import { ourCommand } from "./invocation.ts";

type Flags = ServeFlags & { forwardTo?: string; secret?: string; events?: string[] };

/** `serve`: the whole service, until Ctrl-C. */
export function serveCommand(): Command {
  return addServeOptions(new Command("serve"), { clock: "real" })
    .description("run the whole service: REST API, dashboard, webhook delivery")
    .option("--forward-to <url>", "register this endpoint at the start", webUrl)
    .option("--secret <secret>", "its signing secret; made up and printed when absent")
    .option("--events <types>", "its event types, separated by commas; all when absent", eventSelection)
    .action(async (flags: Flags) => {
      const output = createOutput({ json: flags.json === true });
      const eventTypes = flags.events ?? [];
      // Loaded only now: --help and a wrong option are answered at once.
      const { startSimulatorForCommand } = await import("./running-simulator.ts");
      const running = await startSimulatorForCommand(flags, output);
      const secret =
        flags.forwardTo &&
        (await forward(running, { url: flags.forwardTo, eventTypes, given: flags.secret }));

      output.value({ ...bannerValue(running), ...(secret !== undefined && { secret }) });
      output.line();
      printBanner(running, output, flags.data);
      if (secret !== undefined) {
        output.table(
          [
            ["Endpoint", flags.forwardTo ?? ""],
            ["Secret", secret],
          ],
          "  ",
        );
      }
      output.line();
      printNextSteps(running, output, flags);
      printLiveLog(running.simulator, output);
      await untilInterrupted();
      await running.close();
    });
}

/** Registers the endpoint of `--forward-to`; one that a data file has already keeps its secret. */
async function forward(
  running: RunningSimulator,
  settings: { url: string; eventTypes: string[]; given: string | undefined },
): Promise<string> {
  const { endpoints } = running.simulator;
  const { url, eventTypes, given } = settings;
  const existing = endpoints.list().find((endpoint) => endpoint.url === new URL(url).href);
  if (existing !== undefined && (given === undefined || given === existing.secret)) {
    endpoints.change(existing, { eventTypes });
    return existing.secret;
  }
  const registered = endpoints.register({ url, eventTypes, ...(given !== undefined && { secret: given }) });
  if (registered.ok) {
    if (existing !== undefined) endpoints.remove(existing.id);
    return registered.endpoint.secret;
  }
  await running.close();
  throw new CommandError(`--forward-to ${url}: ${registered.message}`, EXIT.wrongUsage);
}

function printNextSteps(running: RunningSimulator, output: Output, flags: Flags): void {
  const { url } = running.server;
  const option = url === "http://127.0.0.1:4010" ? "" : ` --simulator ${url}`;
  output.note("Next, in another terminal:");
  if (flags.forwardTo === undefined) {
    output.note(`  ${ourCommand(`endpoints add http://localhost:3000/webhooks${option}`)}`);
  }
  output.note(`  ${ourCommand(`trigger call.completed${option}`)}`);
  output.note(`  curl -H "Authorization: Bearer va_test_restaurant" ${url}/api/v1/me`);
  output.note("Ctrl-C ends it.\n");
}
