import { Command } from "commander";
import { bannerValue, printBanner } from "./banner.ts";
import { endpointView } from "../control/views.ts";
import { untilAborted } from "../processes/until-aborted.ts";
import { usageError } from "./command-error.ts";
import { interruptible } from "./interrupt.ts";
import { printLiveLog } from "./live-log.ts";
import { eventSelection, observeUrl, webUrl } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import { ownEndpoint } from "./own-endpoint.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import { secretHint, wantSecret } from "./secret-option.ts";
import { addServeOptions, type ServeFlags } from "./serve-options.ts";
import { ourCommand } from "../text/invocation.ts";

type Flags = ServeFlags & { forwardTo?: string; secret?: string; events?: string[]; observe?: string };

type Forwarded = ReturnType<typeof ownEndpoint>;

export default function serveCommand(): Command {
  return addServeOptions(new Command("serve"), { clock: "real" })
    .description("run the whole service: REST API, dashboard, webhook delivery")
    .option("--forward-to <url>", "register this endpoint at the start", webUrl)
    .option(
      "--secret <secret>",
      "its signing secret; @FILE reads it from a file; generated and printed when absent",
    )
    .option("--events <types>", "its event types, separated by commas; all when absent", eventSelection)
    .option(
      "--observe <url>",
      "where the receiver reports what it did with the event {id}: the dashboard then judges effects",
      observeUrl,
    )
    .action(async (flags: Flags) => {
      const output = createOutput(flags);
      const { forwardTo: url, events: eventTypes = [] } = flags;
      const secret = flags.secret && wantSecret(flags.secret);
      if (url === undefined && (flags.secret ?? flags.events) !== undefined)
        throw usageError("--secret and --events are for the endpoint of --forward-to: give its URL, too.");
      // Loaded only now, so that --help and a wrong option respond at once.
      const { startSimulatorForCommand } = await import("./running-simulator.ts");
      const running = await startSimulatorForCommand(flags);
      try {
        const settings = { flag: "--forward-to", secret, eventTypes };
        const forwarded = url === undefined ? undefined : ownEndpoint(running, { ...settings, url });
        if (flags.observe !== undefined) {
          const { createObserver } = await import("../observer/observer.ts");
          running.simulator.verdicts.observe(createObserver(flags.observe), forwarded?.endpoint.id);
        }
        print(running, flags, output, forwarded);
        printLiveLog(running.simulator, output);
        await interruptible(untilAborted);
      } finally {
        await running.close();
      }
    });
}

/** Prints all addresses. The secret of an endpoint from a data file is not shown again. */
function print(running: RunningSimulator, flags: Flags, output: Output, forwarded?: Forwarded): void {
  const secret = forwarded?.isNew === true ? forwarded.endpoint.secret : undefined;
  output.value({ ...bannerValue(running), secret });
  output.line();
  printBanner(running, output, flags.data);
  if (forwarded !== undefined) {
    const { url, secret_last4: last4 } = endpointView(forwarded.endpoint);
    const shown = secret ?? `${secretHint(last4)}; it was shown when it was registered`;
    for (const row of [`Endpoint  ${url}`, `Secret    ${shown}`]) output.line(`  ${row}`);
  }
  output.line();
  printNextSteps(running, output, flags);
}

function printNextSteps(running: RunningSimulator, output: Output, flags: Flags): void {
  const { url } = running.server;
  const target = { simulator: url, token: running.token };
  output.note("Next, in another terminal:");
  if (flags.forwardTo === undefined)
    output.note(`  ${ourCommand("endpoints add http://localhost:3000/webhooks", target)}`);
  output.note(`  ${ourCommand("trigger call.completed", target)}`);
  output.note(`  curl -H "Authorization: Bearer va_test_restaurant" ${url}/api/v1/me`);
  output.note("Ctrl-C ends it.\n");
}
