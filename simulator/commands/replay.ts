import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { Command } from "commander";
import type { Envelope } from "../../shared/events.ts";
import { openSource, type Source } from "../replay/sources.ts";
import { openStateFile, type ReplayProgress, type StateFile } from "../replay/state-file.ts";
import { CommandError, EXIT, orUsageError } from "./command-error.ts";
import { addSimulatorOptions, createControlClient, type SimulatorFlags } from "./control-client.ts";
import { messageOf } from "../text/errors.ts";
import { eventDetailSchema } from "../domain/shapes.ts";
import { interruptible } from "./interrupt.ts";
import { collect, eventsASecond, faultOption, webUrl } from "./option-values.ts";
import { createOutput, type Output } from "./output.ts";
import { createReplayReport, type ReplayReport } from "./replay-report.ts";
import { directTarget, simulatorTarget, type ReplayTarget } from "./replay-targets.ts";
import { secretOption } from "./secret-option.ts";

export type ReplayFlags = SimulatorFlags & {
  to?: string;
  secret?: string;
  newIds?: boolean;
  rate?: number;
  resume?: string;
  fault: string[];
  allowHost: string[];
  wait: boolean;
};

export default function replayCommand(): Command {
  return addSimulatorOptions(new Command("replay"))
    .description(
      "resend recorded events in order, newly signed: through the running simulator to its endpoints " +
        "(with the retry schedule), or with --to straight to one address (one attempt each)",
    )
    .argument(
      "<source...>",
      "event ids, event types (a sample each), or files of envelopes: JSON, or JSON lines as a receiver's inbox export writes them",
    )
    .option("--to <url>", "send straight to this address", webUrl)
    .addOption(secretOption())
    .option("--new-ids", "give every event a new id, so that it is no duplicate")
    .option("--rate <number>", "events a second at most", eventsASecond)
    .option(
      "--resume <file>",
      "keep progress and failures in this file; the same command then continues there, and sends nothing twice until the file is removed",
    )
    .addOption(faultOption())
    .option("--allow-host <host>", "let --to go to this host over http too (repeatable)", collect, [])
    .option("--no-wait", "through a simulator: do not wait for the first attempts")
    .action(async (names: string[], flags: ReplayFlags) => {
      const output = createOutput(flags);
      process.exitCode = await interruptible((signal) => replay(names, { flags, output, signal }));
    });
}

async function replay(
  names: string[],
  { flags, output, signal }: { flags: ReplayFlags; output: Output; signal: AbortSignal },
): Promise<number> {
  const { to } = flags;
  const target = to === undefined ? simulatorTarget(flags, output) : await directTarget(to, flags, signal);
  const sources = await openSources(names, flags);
  const total = sources.reduce((sum, source) => sum + source.count, 0);
  const { state, before } = resumption(names, total, flags);
  const isOver = flags.resume !== undefined && before.done === total;
  if (isOver) output.note(`All ${total} were sent before: remove ${flags.resume} to send them again.`);
  else if (before.done > 0) output.note(`Continuing after ${before.done} of ${total}.`);

  const report = createReplayReport({ total, before, output });
  await run(sources, { target, report, state, flags, signal });
  report.finish(target.name, signal.aborted ? undefined : await target.firstAttempts?.());
  if (report.isComplete()) {
    if (report.failed() > 0) return EXIT.checkFailed;
    output.note(target.next());
    return EXIT.ok;
  }
  const goesOn = flags.resume === undefined ? "a replay with --resume FILE" : "the same command";
  output.note(`Stopped after ${report.done()} of ${total}: ${goesOn} continues where it stopped.`);
  return EXIT.couldNotRun;
}

async function openSources(names: string[], flags: ReplayFlags): Promise<Source[]> {
  const findEvent = async (id: string): Promise<Envelope> =>
    (await createControlClient(flags).get(`/events/${id}`, eventDetailSchema)).envelope;
  const sources: Source[] = [];
  for (const name of names) {
    const opened = await openSource({ name, findEvent, newId });
    sources.push(orUsageError(opened).source);
  }
  return sources;
}

function resumption(names: string[], total: number, { resume }: ReplayFlags) {
  const begun: ReplayProgress = { done: 0, sent: 0, acknowledged: 0, outcomes: {}, failures: [] };
  if (resume === undefined) return { state: undefined, before: begun };
  const { state, progress } = orUsageError(openStateFile(resume, { sources: names, total }));
  return { state, before: progress };
}

async function run(
  sources: readonly Source[],
  options: {
    target: ReplayTarget;
    report: ReplayReport;
    state: StateFile | undefined;
    flags: ReplayFlags;
    signal: AbortSignal;
  },
): Promise<void> {
  const { target, report, state, flags, signal } = options;
  const pace = createPace(flags.rate, signal);
  const batchSize = flags.rate === undefined ? target.batchSize : 1;
  let toSkip = report.done();
  let batch: Envelope[] = [];

  function keep(): void {
    try {
      state?.save(report.progress());
    } catch (error) {
      const sent = `${report.done()} were sent before`;
      throw new CommandError(
        `The progress cannot be kept in ${flags.resume} (${messageOf(error)}): ${sent}.`,
      );
    }
  }

  async function sendBatch(): Promise<void> {
    if (batch.length === 0 || signal.aborted || report.isHopeless()) return;
    await pace();
    if (signal.aborted) return;
    const results = await target.send(batch).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    // The result of an interrupted batch is unknown: the next run sends it again.
    if (results === undefined) return;
    report.add(results);
    if (!signal.aborted && !report.isHopeless()) keep();
    batch = [];
  }

  // Nothing is sent if this fails.
  keep();
  for (const source of sources) {
    for await (const envelope of source.open()) {
      if (signal.aborted || report.isHopeless()) return;
      toSkip -= 1;
      if (toSkip >= 0) continue;
      batch.push(flags.newIds === true ? { ...envelope, id: newId() } : envelope);
      if (batch.length >= batchSize) await sendBatch();
    }
  }
  await sendBatch();
}

/** Waits until the next one may start, counted from the start of all, so that slow sends do not slow the pace. */
function createPace(rate: number | undefined, signal: AbortSignal): () => Promise<void> {
  const startedMs = performance.now();
  let started = 0;
  return async () => {
    const waitMs = rate === undefined ? 0 : startedMs + (started * 1000) / rate - performance.now();
    started += 1;
    if (waitMs > 0) await pause(waitMs, undefined, { signal }).catch(() => {});
  };
}

function newId(): string {
  return `evt_${randomBytes(16).toString("hex")}`;
}
