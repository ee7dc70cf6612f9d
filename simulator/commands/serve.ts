import { Command } from "commander";
import { bannerValue, printBanner } from "./banner.ts";
import { endpointView } from "../control/views.ts";
import { usageError } from "./command-error.ts";
import { untilInterrupted } from "./interrupt.ts";
import { printLiveLog } from "./live-log.ts";
import { eventSelection, observeUrl, webUrl } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import { secretHint } from "./secret-option.ts";
import { addServeOptions, type ServeFlags } from "./serve-options.ts";
import { ourCommand } from "../text/invocation.ts";

type Flags = ServeFlags & { forwardTo?: string; secret?: string; events?: string[]; observe?: string };

/** `serve`: the whole service, until Ctrl-C. */
export default function serveCommand(): Command {
  return addServeOptions(new Command("serve"), { clock: "real" })
    .description("run the whole service: REST API, dashboard, webhook delivery")
    .option("--forward-to <url>", "register this endpoint at the start", webUrl)
    .option("--secret <secret>", "its signing secret; made up and printed when absent")
    .option("--events <types>", "its event types, separated by commas; all when absent", eventSelection)
    .option(
      "--observe <url>",
      "where the receiver tells what it did with the event {id}: the dashboard then judges what was done",
      observeUrl,
    )
    .action(async (flags: Flags) => {
      const output = createOutput(flags);
      const eventTypes = flags.events ?? [];
      // Loaded only now, so that --help and a wrong option are answered at once.
      const { startSimulatorForCommand } = await import("./running-simulator.ts");
      const running = await startSimulatorForCommand(flags);
      const target = flags.forwardTo;
      const { observe } = flags;
      const observer =
        observe === undefined ? undefined : (await import("../observer/observer.ts")).createObserver(observe);
      const forwarded =
        target === undefined
          ? undefined
          : await forward(running, { url: target, eventTypes, given: flags.secret });

      if (observer !== undefined) running.simulator.verdicts.observe(observer, forwarded?.id);
      output.value({ ...bannerValue(running), secret: forwarded?.secret });
      output.line();
      printBanner(running, output, flags.data);
      if (forwarded !== undefined) {
        output.table(
          [
            ["Endpoint", forwarded.url],
            [
              "Secret",
              forwarded.secret ?? `${secretHint(forwarded.secretLast4)}; it was shown when it was registered`,
            ],
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

/**
 * Registers the endpoint of `--forward-to`. One that a data file has already keeps its secret, which is not shown again,
 * unless another is given.
 */
async function forward(
  running: RunningSimulator,
  settings: { url: string; eventTypes: string[]; given: string | undefined },
): Promise<{ id: string; url: string; secret?: string; secretLast4: string }> {
  const { endpoints } = running.simulator;
  const { url, eventTypes, given } = settings;
  const existing = endpoints.list().find((endpoint) => endpoint.url === new URL(url).href);
  if (existing !== undefined && (given === undefined || given === existing.secret)) {
    endpoints.change(existing.id, { eventTypes });
    return { id: existing.id, url, secretLast4: endpointView(existing).secret_last4 };
  }
  const registered = endpoints.register({ url, eventTypes, secret: given });
  if (registered.ok) {
    if (existing !== undefined) endpoints.remove(existing.id);
    const { id, secret } = registered.endpoint;
    return { id, url, secret, secretLast4: endpointView(registered.endpoint).secret_last4 };
  }
  await running.close();
  throw usageError(`--forward-to ${url}: ${registered.message}`);
}

function printNextSteps(running: RunningSimulator, output: Output, flags: Flags): void {
  const { url } = running.server;
  const target = { simulator: url, token: running.token };
  output.note("Next, in another terminal:");
  if (flags.forwardTo === undefined) {
    output.note(`  ${ourCommand("endpoints add http://localhost:3000/webhooks", target)}`);
  }
  output.note(`  ${ourCommand("trigger call.completed", target)}`);
  output.note(`  curl -H "Authorization: Bearer va_test_restaurant" ${url}/api/v1/me`);
  output.note("Ctrl-C ends it.\n");
}
