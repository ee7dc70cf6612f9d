import { Command } from "commander";
import { createObserver } from "../observer/observer.ts";
import { addressOf } from "../processes/listening.ts";
import {
  describeExit,
  type Exit,
  startReceiver,
  type ReceiverProcess,
} from "../processes/receiver-process.ts";
import { printBanner } from "./banner.ts";
import { CommandError, EXIT, usageError } from "./command-error.ts";
import { createLocator, portForReceiver } from "./dev-search.ts";
import { interruptible } from "./interrupt.ts";
import { printLiveLog } from "./live-log.ts";
import { observeUrl, webUrl, wholeNumber } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import { ownEndpoint } from "./own-endpoint.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import { secretOption, wantSecret } from "./secret-option.ts";
import { addServeOptions, type ServeFlags } from "./serve-options.ts";
import { ourCommand } from "../text/invocation.ts";
import { untilAborted } from "../processes/until-aborted.ts";

type Flags = ServeFlags & {
  url?: string;
  secret?: string;
  observe?: string;
  once?: boolean;
  quiet?: boolean;
  readyTimeout: number;
};

const LONGEST_READY_SECONDS = 600;
/** How long the receiver may take to end in order; shorter when a user waits for the prompt. */
const GRACE_MS = 5_000;
const INTERRUPTED_GRACE_MS = 600;

/** `dev`: the service and the user's receiver together, every event type sent once, then open for play. */
export default function devCommand(): Command {
  return addServeOptions(new Command("dev"), { clock: "real" })
    .description("run the service together with your receiver, in any language, and send it every event type")
    .argument(
      "[command...]",
      "after --: the command that starts your receiver, unless it runs at --url already",
    )
    .option("--url <url>", "where your receiver listens; found at PORT or a usual port unless given", webUrl)
    .addOption(secretOption())
    .option("--observe <url>", "where your receiver reports what it did with the event {id}", observeUrl)
    .option("--once", "exit when the samples are handled; not 0 if one was not")
    .option("--quiet", "show your receiver's own output only when something is wrong")
    .option(
      "--ready-timeout <seconds>",
      "how long your receiver may take to listen",
      wholeNumber(1, LONGEST_READY_SECONDS),
      30,
    )
    .action(async (command: string[], flags: Flags) => {
      if (command.length === 0 && flags.url === undefined)
        throw usageError(
          "dev needs the command that starts your receiver, such as dev -- node server.js, or the --url of one that runs.",
        );
      const output = createOutput(flags);
      process.exitCode = await interruptible(async (interruption) => {
        // Loaded only now, so that --help and a wrong option respond at once.
        const { startSimulatorForCommand } = await import("./running-simulator.ts");
        const running = await startSimulatorForCommand(flags);
        const context = { running, output, interruption };
        try {
          return await develop(command, flags, context);
        } finally {
          await running.close();
        }
      });
    });
}

type Context = { running: RunningSimulator; output: Output; interruption: AbortSignal };

async function develop(command: string[], flags: Flags, context: Context): Promise<number> {
  const { running, output, interruption } = context;
  const port =
    flags.url === undefined ? await portForReceiver(process.env["PORT"]) : addressOf(flags.url).port;
  const url = flags.url ?? `http://localhost:${port}/webhooks`;
  const given = flags.secret === undefined ? undefined : wantSecret(flags.secret);
  const { id, secret } = ownEndpoint(running, { flag: "--url", url, secret: given }).endpoint;
  if (command.length === 0) {
    if (given === undefined)
      output.note(
        `Your receiver needs SIGNING_SECRET=${secret}; if it has a secret already, give that as --secret.`,
      );
    return accompany(undefined, flags, { ...context, endpointId: id });
  }
  const locator = flags.url === undefined ? await createLocator(port, secret) : undefined;
  output.note(`Starting your receiver: ${command.join(" ").replace(process.execPath, "node")}`);
  const { quiet, readyTimeout } = flags;
  const started = await startReceiver({
    command,
    url,
    locate: locator?.locate,
    readyTimeoutMs: readyTimeout * 1000,
    signal: interruption,
    env: {
      PORT: String(addressOf(url).port),
      SIGNING_SECRET: secret,
      API_BASE_URL: running.server.url,
      API_KEY: running.simulator.world.organizations()[0]?.apiKey ?? "",
    },
    onLine: quiet === true ? undefined : (line) => output.note(output.style("dim", `receiver | ${line}`)),
  });
  if (!started.ok) throw withLines(started.message, started.output);
  const { receiver } = started;
  const found = locator?.found();
  if (found !== undefined) {
    output.note(`Found it at ${found.url}. ${found.sentence}`);
    running.simulator.endpoints.change(id, { url: found.url });
  }
  try {
    return await accompany(receiver, flags, { ...context, endpointId: id });
  } finally {
    await receiver.stop({ graceMs: interruption.aborted ? INTERRUPTED_GRACE_MS : GRACE_MS });
  }
}

/** Sends the samples to a receiver that listens, and stays until it ends or the user interrupts. */
async function accompany(
  receiver: ReceiverProcess | undefined,
  flags: Flags,
  { output, running, endpointId, interruption }: Context & { endpointId: string },
): Promise<number> {
  const death = new AbortController();
  const died = receiver?.exited().then((exit) => {
    death.abort();
    return exit;
  });
  const over = AbortSignal.any([interruption, death.signal]);

  const { sendSamples } = await import("./samples-tour.ts");
  const observer = flags.observe === undefined ? undefined : createObserver(flags.observe);
  if (observer !== undefined) running.simulator.verdicts.observe(observer, endpointId);
  const samples = await sendSamples({ running, endpointId, output, observer, interruption, signal: over });
  const exitCode = samples.allHandled ? EXIT.ok : EXIT.checkFailed;
  if (exitCode !== EXIT.ok && flags.quiet === true && !over.aborted) {
    for (const line of receiver?.output() ?? []) output.note(output.style("dim", `receiver | ${line}`));
  }
  if (flags.once !== true && !over.aborted) {
    printWhatNext(running, flags, output);
    const stopLog = printLiveLog(running.simulator, output);
    await untilAborted(over);
    stopLog();
  }
  const exit = death.signal.aborted ? await died : undefined;
  if (receiver !== undefined && exit !== undefined) throw deathOf(receiver, exit);
  if (!interruption.aborted) return exitCode;
  // With --once an interruption means that the round is incomplete.
  return flags.once === true ? EXIT.couldNotRun : EXIT.ok;
}

function printWhatNext(running: RunningSimulator, flags: Flags, output: Output): void {
  output.line();
  printBanner(running, output, flags.data);
  output.line();
  const target = { simulator: running.server.url, token: running.token };
  output.note("Next, in another terminal:");
  output.note(`  ${ourCommand("trigger voicemail.created", target)}`);
  output.note(`  ${ourCommand("deliveries", target)}`);
  output.note(`Ctrl-C ends it.\n`);
}

function deathOf(receiver: ReceiverProcess, exit: Exit): CommandError {
  const lines = receiver.output().slice(-20);
  return withLines(
    `Your receiver ended (${describeExit(exit)}).${lines.length > 0 ? " Its last lines:" : ""}`,
    lines,
  );
}

function withLines(message: string, lines: readonly string[]): CommandError {
  return new CommandError([message, ...lines.map((line) => `  receiver | ${line}`)].join("\n"));
}
