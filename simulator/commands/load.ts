import { Command } from "commander";
import { checkEndpointUrl } from "../domain/endpoint-url.ts";
import type { Knee } from "../load/knee.ts";
import type { LoadPlan, LoadResult } from "../load/run.ts";
import { CommandError, EXIT, usageError } from "./command-error.ts";
import { interruptible } from "./interrupt.ts";
import { collect, durationSeconds, eventsASecond, shareOf, webUrl, wholeNumber } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import { secretOption, wantSecret } from "./secret-option.ts";

type Flags = {
  secret?: string;
  rate?: number;
  duration?: number;
  connections: number;
  duplicates: number;
  knee?: boolean;
  allowHost: string[];
  json?: boolean;
};

const DURATION_SECONDS = 10;
const KNEE_STEP_SECONDS = 3;
const LONGEST_SECONDS = 3_600;
const MOST_CONNECTIONS = 1_000;
const QUANTILES = [
  ["p50", 0.5],
  ["p99", 0.99],
  ["p99.9", 0.999],
] as const;

export default function loadCommand(): Command {
  return new Command("load")
    .description(
      "send signed, unique events for a while, and say how many a second were acknowledged and how fast. " +
        "As fast as the connections allow, or with --rate at a steady pace, where waiting counts as latency",
    )
    .argument("<url>", "the receiver; only on this machine unless --allow-host names another", webUrl)
    .addOption(secretOption())
    .option("--rate <number>", "events a second", eventsASecond)
    .option(
      "--duration <duration>",
      `how long (${DURATION_SECONDS}s; ${KNEE_STEP_SECONDS}s a step with --knee)`,
      durationSeconds,
    )
    .option(
      "--connections <number>",
      "connections, each with one request at a time",
      wholeNumber(1, MOST_CONNECTIONS),
      50,
    )
    .option("--duplicates <share>", "the share that repeats an event, such as 5%", shareOf, 0)
    .option("--knee", "raise the rate until p99 breaks, and report the last rate that held")
    .option("--allow-host <host>", "also this host (repeatable)", collect, [])
    .option("--json", "print JSON")
    .action(async (url: string, flags: Flags) => {
      const output = createOutput(flags);
      process.exitCode = await interruptible((signal) => measure(url, { flags, output, signal }));
    });
}

async function measure(
  url: string,
  { flags, output, signal }: { flags: Flags; output: Output; signal: AbortSignal },
): Promise<number> {
  const plan = planOf(url, flags);
  // Loaded only now: a mistake in the command line is answered at once.
  const { runLoad } = await import("../load/run.ts");

  if (flags.knee === true) {
    const { findKnee } = await import("../load/knee.ts");
    const knee = await findKnee(plan, {
      firstRate: flags.rate,
      run: (step) => {
        output.progress(`${step.rate} a second …`);
        return runLoad(step, { signal });
      },
      isStopped: () => signal.aborted,
      onStep: ({ rate, acknowledgedPerSecond, p99Ms, failed, holds }) =>
        output.note(
          `${String(rate).padStart(6)}/s  ${acknowledgedPerSecond.toFixed(0)} acknowledged/s  p99 ${p99Ms.toFixed(1)} ms` +
            `${failed === 0 ? "" : `  ${failed} failed`}  ${holds ? "holds" : "breaks"}`,
        ),
    });
    return printKnee(url, knee, output);
  }
  const result = await runLoad(plan, {
    signal,
    onProgress: ({ acknowledged, sent, elapsedMs }) =>
      output.progress(`${(elapsedMs / 1000).toFixed(1)} s  ${acknowledged} of ${sent} acknowledged`),
  });
  if (signal.aborted) output.note("Interrupted: these are the results until then.");
  return printResult(url, { ...result, interrupted: signal.aborted }, output);
}

function planOf(url: string, flags: Flags): LoadPlan {
  const secret = wantSecret(flags.secret);
  const { hostname } = new URL(url);
  // A load test needs --allow-host even over https: it must not hit another machine by mistake.
  const checked = checkEndpointUrl(`http://${hostname}/`, flags.allowHost);
  if (!checked.ok)
    throw usageError(
      `load sends to this machine only, and ${hostname} is another: add --allow-host ${hostname} if you may.`,
    );
  const seconds = flags.duration ?? (flags.knee === true ? KNEE_STEP_SECONDS : DURATION_SECONDS);
  if (!(seconds > 0 && seconds <= LONGEST_SECONDS))
    throw usageError("--duration: give a duration above 0, up to 1h.");
  const { connections, duplicates, rate, allowHost: allowedHosts } = flags;
  return { url, secret, allowedHosts, durationMs: seconds * 1000, connections, duplicates, rate };
}

function printResult(url: string, result: LoadResult & { interrupted: boolean }, output: Output): number {
  const { interrupted, sent, acknowledged, duplicates, dropped, elapsedMs, latencies, failures } = result;
  const perSecond = acknowledged / (elapsedMs / 1000);
  const quantiles = QUANTILES.map(([name, share]) => [name, latencies.quantileMs(share)] as const);
  output.clearProgress();
  output.value({
    object: "load",
    url,
    interrupted,
    duration_ms: Math.round(elapsedMs),
    sent,
    acknowledged,
    acknowledged_per_second: rounded(perSecond),
    duplicates,
    dropped,
    failures,
    latency_ms: {
      ...Object.fromEntries(quantiles.map(([name, ms]) => [name.replace(".", "_"), rounded(ms)])),
      max: rounded(latencies.largestMs()),
    },
  });
  const rows = [["Acknowledged", `${acknowledged} of ${sent}, ${perSecond.toFixed(0)}/s`]];
  if (acknowledged > 0)
    for (const [name, ms] of [...quantiles, ["max", latencies.largestMs()] as const])
      rows.push([name, `${ms.toFixed(1)} ms`]);
  if (duplicates > 0) rows.push(["Duplicates", String(duplicates)]);
  if (dropped > 0) rows.push(["Not sent", `${dropped}, since too many were waiting`]);
  for (const [word, count] of Object.entries(failures)) rows.push(["Failed", `${count} × ${word}`]);
  output.table(rows);
  if (sent === 0) throw new CommandError("No request was completed: nothing was measured.");
  if (failures["refused"] === sent)
    throw new CommandError(`Nothing listens at ${url}: start your receiver first.`);
  if (failures["401"] !== undefined || failures["403"] !== undefined) {
    output.note("\nIt refuses the signature: is --secret the one that it verifies with?");
  } else if (acknowledged === sent && dropped === 0) {
    output.note("\nWhere it breaks:  add --knee");
  }
  return acknowledged === sent && dropped === 0 ? EXIT.ok : EXIT.checkFailed;
}

function printKnee(url: string, knee: Knee, output: Output): number {
  output.clearProgress();
  output.value({
    object: "knee",
    url,
    rate: knee.rate ?? null,
    interrupted: knee.stopped,
    steps: knee.steps.map(({ rate, acknowledgedPerSecond, p99Ms, failed, holds }) => ({
      rate,
      acknowledged_per_second: rounded(acknowledgedPerSecond),
      p99_ms: rounded(p99Ms),
      failed,
      holds,
    })),
  });
  if (knee.stopped && knee.rate === undefined) {
    output.line("Interrupted before any rate had held.");
    return EXIT.couldNotRun;
  }
  if (knee.rate === undefined) {
    output.line(
      output.style("red", `It breaks at the first rate already, ${knee.steps[0]?.rate ?? 0} a second.`),
    );
    return EXIT.checkFailed;
  }
  output.line(
    knee.stopped
      ? `Interrupted: it holds at least ${knee.rate} events a second.`
      : `It holds up to about ${knee.rate} events a second.`,
  );
  return EXIT.ok;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
