import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EVENT_TYPES } from "../../shared/events.ts";
import { createRandom, type Random } from "../../simulator/domain/random.ts";
import { checkPicture, takePicture, unfinished, type Picture } from "./checker.ts";
import { createDisk } from "./disk.ts";
import { createHandlers } from "./handlers.ts";
import { createProcess, simulateMachine, type Process } from "./machine.ts";
import { createNetwork } from "./network.ts";
import { drain, startIntake, startWorkerProcess, type Running } from "./receiver.ts";
import { createService } from "./service.ts";
import { createTimeline } from "./timeline.ts";

/** Steps of a run with trouble, and steps without, after which all work must have ended. */
const STEPS = 60;
const MOST_LAST_STEPS = 400;
const LONGEST_WAIT_MS = 1_800_000;
const MAXIMUM_ATTEMPTS = 3;
const BODY_RETENTION_MS = 20_000;
const SECRET = "whsec_of_a_simulation";
const DIRECTORY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** The kinds of trouble. A seed has about half of them. */
const FAULTS = [
  "network",
  "killed worker",
  "killed intake",
  "power cut",
  "stopped worker",
  "suspended machine",
  "clock set",
  "drained worker",
  "checkpoint",
  "retention",
  "requeue",
  "resent",
] as const;
type Fault = (typeof FAULTS)[number];

export type SimulationResult = {
  events: number;
  acknowledged: number;
  effects: number;
  processes: number;
  /** A hash of everything that happened: two runs with the same hash were the same. */
  trace: string;
};

/**
 * Service and receiver in one world, decided by `seed` alone: the real simulator delivers through a random network to the
 * real intake, store and workers, over a real SQLite file, on clocks that are set, suspended and stopped. Processes are
 * killed between any two statements, and the power is cut between any two commits. Throws at the first broken promise.
 * With `lies` the disk loses synced data. `print` gets everything that happens.
 */
export async function simulate(
  seed: number,
  { lies = false, print = () => undefined }: { lies?: boolean; print?: (line: string) => void } = {},
): Promise<SimulationResult> {
  const directory = mkdtempSync(join(DIRECTORY, "receiver-simulation-"));
  const restore = simulateMachine();
  const timeline = createTimeline();
  const disk = createDisk(directory, createRandom(seed, "disk"), { lies });
  const faults = new Set<Fault>(FAULTS.filter((_, index) => createRandom(seed, "swarm", index).chance(0.5)));
  const [acknowledged, genuine] = [new Set<string>(), new Set<string>()];
  /** The running attempts, each with its process. */
  const attempts = new Map<string, Process>();
  const trace = createHash("sha256");
  let processes = 0;
  let isHealed = false;
  let broken: unknown;

  const note = (text: string): void => {
    const line = `${timeline.service.monotonicMs()} ${text}\n`;
    trace.update(line);
    print(line);
  };
  const fail = (error: unknown): void => void (broken ??= error);
  const newProcess = (role: string): Process =>
    createProcess(`${role} ${(processes += 1)}`, timeline.process(), disk);

  function newWorker(): Running {
    const process = newProcess("worker");
    const random = createRandom(seed, process.name);
    const handlers = createHandlers({
      seed,
      clock: process.clock.clock,
      isHealed: () => isHealed,
      onBegin: (handler, id, number) => {
        if (number < 1 || number > MAXIMUM_ATTEMPTS)
          fail(new Error(`R6: attempt ${number} of ${handler} at ${id}`));
        const attempt = `${handler} ${id}`;
        const other = attempts.get(attempt);
        if (other && !other.isDead())
          fail(new Error(`R6: ${process.name} and ${other.name} make ${attempt}`));
        attempts.set(attempt, process);
        return () => void (attempts.get(attempt) === process && attempts.delete(attempt));
      },
    });
    const options = { handlers, maximumAttempts: MAXIMUM_ATTEMPTS, random: () => random.next() };
    return startWorkerProcess({ process, disk, note, ...options });
  }
  const newIntake = (): Running => startIntake({ process: newProcess("intake"), disk, note, secret: SECRET });

  let intakes = [newIntake(), newIntake()];
  /** One process is the worker, and the other stands by until it ends. */
  let workers = [newWorker(), newWorker()];
  const all = (): Process[] => [...intakes, ...workers].map(({ process }) => process);

  const send = createNetwork({
    seed,
    timeline,
    isFaulty: () => !isHealed && faults.has("network"),
    inbox: (random) => {
      const { inbox, process } = random.pick(intakes);
      return inbox && !process.isDead() ? { inbox, nowMs: process.clock.clock.nowMs() } : undefined;
    },
    onReceipt: (id, { kind }) => {
      note(`${id} ${kind}`);
      if (kind === "stored" || kind === "duplicate") acknowledged.add(id);
    },
    fail,
  });
  const { simulator } = createService({ seed, secret: SECRET, timeline, send });

  function restartTheDead(): void {
    for (const process of all()) if (process.isDead()) process.close();
    intakes = intakes.map((intake) => (intake.process.isDead() ? newIntake() : intake));
    workers = workers.map((worker) => (worker.process.isDead() ? newWorker() : worker));
  }

  function look(): Picture {
    if (broken !== undefined) throw broken;
    const picture = takePicture(disk.file());
    checkPicture(picture, { acknowledged, genuine, maximumAttempts: MAXIMUM_ATTEMPTS });
    return picture;
  }

  function cutPower(random: Random): void {
    for (const process of all()) process.kill();
    note(`power cut, ${disk.cutPower(random)} commits lost`);
  }

  const hands: Record<Fault, (random: Random) => Promise<void> | void> = {
    // It is running in each request.
    network: () => undefined,
    "killed worker": (random) =>
      random.pick(workers).process.killAfter(random.pick([0, 1, 2, 3, 5, 8, 13, 21])),
    "killed intake": (random) => random.pick(intakes).process.killAfter(random.pick([0, 1, 2, 3, 5, 8])),
    "power cut": async (random) => {
      await timeline.pass(random.pick([0, 5, 30, 300]));
      cutPower(random);
    },
    "stopped worker": async (random) => {
      const { clock } = random.pick(workers).process;
      clock.stop();
      await timeline.pass(random.pick([700, 5_000, 40_000]));
      clock.continue();
    },
    "suspended machine": async (random) => timeline.suspend(random.pick([1_000, 40_000, 3_600_000])),
    "clock set": (random) => timeline.setClock(random.pick([-3_600_000, -60_000, 0, 0, 60_000, 3_600_000])),
    "drained worker": async (random) => {
      const worker = random.pick(workers);
      // It may be killed meanwhile.
      void drain(worker).catch((error: unknown) => note(`${worker.process.name} ${String(error)}`));
      await timeline.pass(3_000);
    },
    checkpoint: (random) => {
      try {
        disk.checkpoint(random.pick(["PASSIVE", "RESTART"]));
      } catch (error) {
        note(String(error));
      }
    },
    retention: async (random) => {
      const { process, store } = random.pick(workers);
      const nowMs = process.clock.clock.nowMs();
      if (random.chance(0.5)) process.killAfter(random.int(1, 30));
      void process
        .run(async () => store?.ledger.prune({ bodiesMs: nowMs - BODY_RETENTION_MS, idsMs: 0 }))
        .catch((error: unknown) => note(`retention: ${String(error)}`));
      await timeline.pass(500);
    },
    requeue: async (random) => {
      const { process, store } = random.pick(workers);
      const ids = takePicture(disk.file()).events.map(({ id }) => id);
      void process
        .run(async () => store?.ledger.requeue(ids))
        .catch((error: unknown) => note(`requeue: ${String(error)}`));
      await timeline.pass(50);
    },
    resent: (random) => {
      const some = simulator.deliveries.page({ limit: 50 }).deliveries;
      if (some.length > 0) simulator.deliveries.resend(random.pick(some).id);
    },
  };

  /** Runs until all backoffs and the schedule have ended. */
  async function playToTheEnd(): Promise<Picture> {
    for (let step = 0; ; step += 1) {
      await timeline.pass(2_000);
      restartTheDead();
      const dueMs = simulator.clock.nextDueMs();
      const waitMs = dueMs === undefined ? 30_000 : Math.max(0, dueMs - simulator.clock.now());
      await timeline.suspend(Math.min(LONGEST_WAIT_MS, waitMs));
      const picture = look();
      const left = [...unfinished(picture), ...(dueMs === undefined ? [] : ["a delivery"])];
      if (left.length === 0) return picture;
      assert.ok(step < MOST_LAST_STEPS, `R6: not finished after all trouble has ended: ${left.join(", ")}`);
    }
  }

  try {
    for (let step = 0; step < STEPS; step += 1) {
      const random = createRandom(seed, "step", step);
      if (random.chance(0.5)) {
        const emitted = simulator.events.emit({ type: random.pick(EVENT_TYPES) }, random.pick([1, 1, 2, 5]));
        assert.ok(emitted.ok);
        for (const { event } of emitted.emitted) genuine.add(event.id);
      }
      const fault = random.pick(FAULTS);
      if (faults.has(fault) && random.chance(0.6)) {
        note(fault);
        await hands[fault](random);
      }
      await timeline.pass(random.pick([1, 50, 400, 1_500]));
      restartTheDead();
      look();
    }
    isHealed = true;
    timeline.setClock(0);
    for (const process of all()) process.killAfter(Number.POSITIVE_INFINITY);
    const { effects } = await playToTheEnd();
    const counts = { events: genuine.size, acknowledged: acknowledged.size, effects: effects.length };
    return { ...counts, processes, trace: trace.digest("hex") };
  } finally {
    for (const process of all()) {
      process.kill();
      process.close();
    }
    await simulator.close();
    restore();
    rmSync(directory, { recursive: true, force: true });
  }
}
