import { Command } from "commander";
import type { EndpointResult } from "../domain/endpoints.ts";
import { createObserver } from "../observer/observer.ts";
import { addressOf } from "../processes/listening.ts";
import { startReceiver, type ReceiverProcess, type StartFailure } from "../processes/receiver-process.ts";
import { printBanner } from "./banner.ts";
import { CommandError, EXIT } from "./command-error.ts";
import { interruptible } from "./interrupt.ts";
import { printLiveLog } from "./live-log.ts";
import { observeUrl, webUrl, wholeNumber } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import { addServeOptions, type ServeFlags } from "./serve-options.ts";
import { ourCommand } from "../invocation.ts";

type Flags = ServeFlags & {
  url: string;
  command?: string;
  observe?: string;
  once?: boolean;
  quiet?: boolean;
  readyTimeout: number;
};

const LONGEST_READY_SECONDS = 600;
/** How long the receiver may take to end in order; shorter where somebody waits for the prompt. */
const GRACE_MS = 5_000;
const INTERRUPTED_GRACE_MS = 600;

/** `dev`: the service and the user's receiver together, every event type sent once, then open for play. */
export function devCommand(): Command {
  return addServeOptions(new Command("dev"), { clock: "real" })
    .description("run the service together with your receiver, in any language, and send it every event type")
    .argument("[command...]", "after --: the command that starts your receiver")
    .option("--url <url>", "where your receiver listens", webUrl, "http://localhost:3000/webhooks")
    .option("--command <line>", "the same as after --, as one string of words")
    .option("--observe <url>", "where your receiver tells what it did with the event {id}", observeUrl)
    .option("--once", "exit when the samples are handled; not 0 if one was not")
    .option("--quiet", "show your receiver's own output only when something is wrong")
    .option(
      "--ready-timeout <seconds>",
      "how long your receiver may take to listen",
      wholeNumber(1, LONGEST_READY_SECONDS),
      30,
    )
    .action(async (words: string[], flags: Flags) => {
      const command =
        words.length > 0 ? words : (flags.command ?? "").split(" ").filter((word) => word !== "");
      if (command.length === 0) {
        throw new CommandError(
          "dev starts your receiver: name its command after --, such as: dev --url http://localhost:3000/webhooks -- node server.js",
          EXIT.wrongUsage,
        );
      }
      const output = createOutput({ json: flags.json === true });
      process.exitCode = await interruptible((signal) => develop(command, flags, output, signal));
    });
}

async function develop(
  command: string[],
  flags: Flags,
  output: Output,
  interruption: AbortSignal,
): Promise<number> {
  // Loaded only now: --help and a wrong option are answered at once.
  const { startSimulatorForCommand } = await import("./running-simulator.ts");
  const running = await startSimulatorForCommand(flags);
  try {
    const endpoint = endpointFor(flags.url, running);
    if (!endpoint.ok) throw new CommandError(`--url ${flags.url}: ${endpoint.message}`, EXIT.wrongUsage);
    const { id, secret } = endpoint.endpoint;
    output.note(`Starting your receiver: ${command.join(" ")}`);
    const started = await startUserReceiver(command, flags, { output, running, secret, interruption });
    if (!started.ok) {
      const lines = started.output.map((line) => `  receiver | ${line}`);
      throw new CommandError([started.message, ...lines].join("\n"));
    }
    const { receiver } = started;
    try {
      return await accompany(receiver, flags, { output, running, endpointId: id, interruption });
    } finally {
      await receiver.stop({ graceMs: interruption.aborted ? INTERRUPTED_GRACE_MS : GRACE_MS });
    }
  } finally {
    await running.close();
  }
}

/** Sends the samples to a receiver that listens, and stays until it ends or somebody wants an end. */
async function accompany(
  receiver: ReceiverProcess,
  flags: Flags,
  context: { output: Output; running: RunningSimulator; endpointId: string; interruption: AbortSignal },
): Promise<number> {
  const { output, running, endpointId, interruption } = context;
  const death = new AbortController();
  const died = receiver.exited().then((exit) => {
    death.abort();
    return exit;
  });
  const over = AbortSignal.any([interruption, death.signal]);

  const { sendSamples } = await import("./samples-tour.ts");
  const observer = flags.observe === undefined ? undefined : createObserver(flags.observe);
  if (observer !== undefined) running.simulator.verdicts.observe(observer, endpointId);
  const samples = await sendSamples({ running, endpointId, output, observer, signal: over });
  const exitCode = samples.allHandled ? EXIT.ok : EXIT.checkFailed;
  if (exitCode !== EXIT.ok && flags.quiet === true && !over.aborted) {
    for (const line of receiver.output()) output.note(output.style("dim", `receiver | ${line}`));
  }
  if (flags.once !== true && !over.aborted) {
    printWhatNext(running, flags, output);
    const stopLog = printLiveLog(running.simulator, output);
    await aborted(over);
    stopLog();
  }
  if (death.signal.aborted) return reportDeath(receiver, await died, output);
  if (!interruption.aborted) return exitCode;
  // Who asked for one round got none.
  return flags.once === true ? EXIT.couldNotRun : EXIT.ok;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** One that a data file has already keeps its secret, and what waits for it. */
function endpointFor(url: string, { simulator }: RunningSimulator): EndpointResult {
  const existing = simulator.endpoints.list().find((endpoint) => endpoint.url === new URL(url).href);
  return existing === undefined ? simulator.endpoints.register({ url }) : { ok: true, endpoint: existing };
}

function startUserReceiver(
  command: string[],
  flags: Flags,
  context: { output: Output; running: RunningSimulator; secret: string; interruption: AbortSignal },
): Promise<{ ok: true; receiver: ReceiverProcess } | StartFailure> {
  const { output, running, secret, interruption } = context;
  return startReceiver({
    command,
    url: flags.url,
    readyTimeoutMs: flags.readyTimeout * 1000,
    signal: interruption,
    env: {
      PORT: String(addressOf(flags.url).port),
      SIGNING_SECRET: secret,
      API_BASE_URL: running.server.url,
      API_KEY: running.simulator.world.organizations()[0]?.apiKey ?? "",
    },
    ...(flags.quiet !== true && {
      onLine: (line: string) => output.note(output.style("dim", `receiver | ${line}`)),
    }),
  });
}

function printWhatNext(running: RunningSimulator, flags: Flags, output: Output): void {
  output.line();
  printBanner(running, output, flags.data);
  output.line();
  const target = { simulator: running.server.url, token: running.token };
  output.note("Next, in another terminal:");
  output.note(`  ${ourCommand("trigger voicemail.created", target)}`);
  output.note(`  ${ourCommand("deliveries", target)}`);
  output.note("Ctrl-C ends both.\n");
}

function reportDeath(
  receiver: ReceiverProcess,
  exit: { code: number | null; signal: string | null },
  output: Output,
): number {
  const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  output.note(`Your receiver ended (${how}). Its last lines:`);
  for (const line of receiver.output().slice(-20)) output.note(`  receiver | ${line}`);
  return EXIT.couldNotRun;
}
