import { Command } from "commander";
import type { EndpointResult } from "../domain/endpoints.ts";
import { startReceiver, type ReceiverProcess, type StartFailure } from "../receiver-process.ts";
import { printBanner } from "./banner.ts";
import { CommandError, EXIT } from "./command-error.ts";
import { simulatorOption } from "./control-client.ts";
import { untilInterrupted } from "./interrupt.ts";
import { printLiveLog } from "./live-log.ts";
import { webUrl, wholeNumber } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";
import { addServeOptions, type ServeFlags } from "./serve-options.ts";
import { ourCommand } from "./invocation.ts";

type Flags = ServeFlags & {
  url: string;
  command?: string;
  observe?: string;
  once?: boolean;
  quiet?: boolean;
  readyTimeout: number;
};

const LONGEST_READY_SECONDS = 600;

/** `dev`: the service and the user's receiver together, every event type sent once, then open for play. */
export function devCommand(): Command {
  return addServeOptions(new Command("dev"), { clock: "real" })
    .description("run the service together with your receiver, in any language, and send it every event type")
    .argument("[command...]", "after --: the command that starts your receiver")
    .option("--url <url>", "where your receiver listens", webUrl, "http://localhost:3000/webhooks")
    .option("--command <line>", "the same as after --, as one string of words")
    .option("--observe <url>", "where your receiver tells what it did with the event {id}")
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
      process.exitCode = await develop(command, flags, createOutput({ json: flags.json === true }));
    });
}

async function develop(command: string[], flags: Flags, output: Output): Promise<number> {
  const interrupted = untilInterrupted().then(() => "interrupted" as const);
  // Loaded only now: --help and a wrong option are answered at once.
  const { startSimulatorForCommand } = await import("./running-simulator.ts");
  const running = await startSimulatorForCommand(flags);
  const endpoint = endpointFor(flags.url, running);
  if (!endpoint.ok) {
    await running.close();
    throw new CommandError(`--url ${flags.url}: ${endpoint.message}`, EXIT.wrongUsage);
  }
  const { secret } = endpoint.endpoint;

  output.note(`Starting your receiver: ${command.join(" ")}`);
  const started = await startUserReceiver(command, flags, output, running, secret);
  if (!started.ok) {
    await running.close();
    throw new CommandError(
      [started.message, ...started.output.map((line) => `  receiver | ${line}`)].join("\n"),
    );
  }
  const { receiver } = started;
  const died = receiver.exited().then((exit) => ({ exit }));

  const { sendSamples } = await import("./samples-tour.ts");
  const tour = sendSamples({
    running,
    endpointId: endpoint.endpoint.id,
    output,
    ...(flags.observe !== undefined && { observeUrl: flags.observe }),
  });
  const first = await Promise.race([tour, interrupted, died]);
  let exitCode: number = EXIT.ok;
  if (typeof first === "object" && "exit" in first) exitCode = reportDeath(receiver, first.exit, output);
  else if (typeof first === "object" && !first.allHandled) {
    exitCode = EXIT.checkFailed;
    if (flags.quiet === true)
      for (const line of receiver.output()) output.note(output.style("dim", `receiver | ${line}`));
  }

  if (flags.once !== true && typeof first === "object" && !("exit" in first)) {
    printWhatNext(running, flags, output);
    const stopLog = printLiveLog(running.simulator, output);
    const second = await Promise.race([interrupted, died]);
    stopLog();
    exitCode = typeof second === "object" ? reportDeath(receiver, second.exit, output) : EXIT.ok;
  }
  await receiver.stop();
  await running.close();
  return exitCode;
}

/** One that a data file has already keeps its secret, and what waits for it. */
function endpointFor(url: string, { simulator }: RunningSimulator): EndpointResult {
  const existing = simulator.endpoints.list().find((endpoint) => endpoint.url === new URL(url).href);
  return existing === undefined ? simulator.endpoints.register({ url }) : { ok: true, endpoint: existing };
}

function startUserReceiver(
  command: string[],
  flags: Flags,
  output: Output,
  running: RunningSimulator,
  secret: string,
): Promise<{ ok: true; receiver: ReceiverProcess } | StartFailure> {
  const url = new URL(flags.url);
  return startReceiver({
    command,
    url: flags.url,
    readyTimeoutMs: flags.readyTimeout * 1000,
    env: {
      PORT: url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port,
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
  const option = simulatorOption({ simulator: running.server.url });
  output.note("Next, in another terminal:");
  output.note(`  ${ourCommand(`trigger voicemail.created${option}`)}`);
  output.note(`  ${ourCommand(`deliveries${option}`)}`);
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
