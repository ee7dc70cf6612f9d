import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EventType } from "../../shared/events.ts";
import type { Delivery } from "../../simulator/domain/deliveries.ts";
import type { Endpoint } from "../../simulator/domain/endpoints.ts";
import type { JournalEntry } from "../../simulator/domain/journal.ts";
import { DEFAULT_READINGS, type Readings } from "../../simulator/domain/readings.ts";
import type { Selection } from "../../simulator/domain/selection.ts";
import { createSimulator } from "../../simulator/service/simulator.ts";
import type { SimulatorOptions } from "../../simulator/service/compose.ts";
import type { Job } from "../../simulator/verbs/jobs.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";

/** A simulator in this process, closed when the test is over (closing it earlier is fine). */
export function openSimulator(options: SimulatorOptions = {}): Simulator {
  const created = createSimulator({ calls: 0, seed: 7, ...options });
  if (!created.ok) throw new Error(created.message);
  const { simulator } = created;
  const close = simulator.close.bind(simulator);
  let closing: Promise<void> | undefined;
  simulator.close = () => (closing ??= close());
  onTestFinished(() => simulator.close());
  return simulator;
}

/** A network on which each attempt is answered with this status. */
export const answering = (status: number) => async () => ({ outcome: { status }, durationMs: 1 });

export function readingsWith(choices: Partial<Readings>): Readings {
  return { ...DEFAULT_READINGS, ...choices };
}

export function register(simulator: Simulator, url: string, more: Partial<Endpoint> = {}): Endpoint {
  const result = simulator.endpoints.register({ url, secret: "whsec_test", ...more });
  if (!result.ok) throw new Error(result.message);
  return result.endpoint;
}

/** Emits `count` events; returns the ids of all their deliveries. */
export function emit(simulator: Simulator, type: EventType = "call.completed", count = 1): string[] {
  const result = simulator.events.emit({ type }, count);
  if (!result.ok) throw new Error(result.message);
  return result.emitted.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
}

/** Emits one event; returns its only delivery. */
export function emitOne(simulator: Simulator, type: EventType = "call.completed"): string {
  const [id] = emit(simulator, type);
  if (id === undefined) throw new Error("No endpoint wanted the event.");
  return id;
}

export function deliveryOf(simulator: Simulator, id: string): Delivery {
  const delivery = simulator.deliveries.find(id);
  if (delivery === undefined) throw new Error(`There is no delivery ${id}.`);
  return delivery;
}

/** Resends a delivery; returns the id of the new one. */
export function resend(simulator: Simulator, id: string): string {
  const result = simulator.deliveries.resend(id);
  if (!result.ok) throw new Error(result.message);
  return result.id;
}

/** Resends all deliveries that a selection matches, and waits for the job; returns the job. */
export async function resendAll(
  simulator: Simulator,
  selection: Selection = { state: "lost" },
): Promise<Job> {
  const result = simulator.jobs.start(selection, {});
  if (!result.ok) throw new Error(result.message);
  await simulator.jobs.ended();
  return result.job;
}

/** Resolves with the first journal entry from now on that `matches`. */
export function nextEntry(
  simulator: Simulator,
  matches: (entry: JournalEntry) => boolean,
): Promise<JournalEntry> {
  return new Promise((resolve) => {
    const stop = simulator.journal.watch((entry) => {
      if (!matches(entry)) return;
      stop();
      resolve(entry);
    });
  });
}

/** Seconds of schedule time from the end of each attempt to the start of the next. */
export function gapsSeconds(simulator: Simulator, deliveryId: string): number[] {
  const attempts = simulator.deliveries.attempts(deliveryId);
  return attempts.slice(1).map((attempt, index) => {
    const previous = attempts[index];
    return (attempt.scheduledAtMs - (previous?.endedAtMs ?? Number.NaN)) / 1000;
  });
}

/** A separate directory, removed when the test is over. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "voice-agent-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * The data file as a kill -9 at this moment would leave it: a copy of the file and its log. (The running simulator keeps
 * the original, and its later changes are not in the copy.)
 */
export function fileAfterKill(file: string, name: string): string {
  const copy = `${file}.${name}`;
  for (const suffix of ["", "-wal"]) {
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
  }
  return copy;
}
