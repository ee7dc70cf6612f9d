import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LEASE_MS } from "../../receiver/engine.ts";
import { keyOf } from "../../receiver/engines/sqlite/inbox-file.ts";
import { EVENT_TYPES } from "../../shared/events.ts";
import { createRandom } from "../../simulator/domain/random.ts";
import { createSimulator } from "../../simulator/simulator.ts";
import { checkHandled, checkPicture, type Picture, stateOf, takePicture } from "./checker.ts";
import { createDisk } from "./disk.ts";
import { createFaults, FAULTS, type Fault } from "./faults.ts";
import { createHandlers, UNHANDLED } from "./handlers.ts";
import { createNetwork } from "./network.ts";
import { startProcess, type ReceiverProcess } from "./receiver-process.ts";
import { createTimeline } from "./timeline.ts";

/** How many steps a run has before all trouble ends. */
export const STEPS = 60;
const SECRET = "whsec_of_a_simulation";
const MAXIMUM_ATTEMPTS = 3;
/** Leases, backoffs and the schedule have come to their end by then, many times over. */
const MOST_HEALING_STEPS = 400;
const DIRECTORY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export type SimulationResult = {
  events: number;
  acknowledged: number;
  effects: number;
  lives: number;
  faults: readonly Fault[];
  /** Of everything that happened: two runs with the same hash were the same. */
  trace: string;
};

/**
 * Service and receiver in one world, decided by `seed` alone: the real simulator delivers through a network of chance to
 * the real parts of the receiver, over real SQLite files, on clocks that are set, suspended and stopped. Its processes
 * are killed between any two statements, and the current is cut between any two syncs. Which kinds of trouble there are
 * is drawn too. Throws at the first broken promise. `skip` leaves out steps by number; the others stay what they were.
 */
export async function simulate(
  seed: number,
  skip: ReadonlySet<number> = new Set(),
): Promise<SimulationResult> {
  const directory = mkdtempSync(join(DIRECTORY, "receiver-simulation-"));
  const timeline = createTimeline();
  const disk = createDisk(directory);
  const trace = createHash("sha256");
  const note = (text: string): void =>
    void trace.update(`${String(timeline.service.monotonicMs())} ${text}
`);
  const faults = FAULTS.filter((_, index) => createRandom(seed, "swarm", index).chance(0.5));
  const acknowledged = new Set<string>();
  const genuine = new Map<string, { isHandled: boolean }>();
  const known = {
    acknowledged,
    genuine,
    maximumAttempts: MAXIMUM_ATTEMPTS,
    finished: new Set<string>(),
    forgotten: new Set<string>(),
  };
  const gone = new Set<string>();
  const knowsTheGone = createRandom(seed, "knows").chance(0.5);
  let healed = false;
  let lives = 0;
  let broken: unknown;
  let intake: ReceiverProcess;
  let workers: ReceiverProcess[] = [];

  function start(role: "intake" | "worker"): ReceiverProcess {
    lives += 1;
    const name = `${role} ${String(lives)}`;
    let self: ReceiverProcess | undefined;
    const random = createRandom(seed, "process", lives);
    self = startProcess({
      name,
      timeline,
      disk,
      secrets: [SECRET],
      random: () => random.next(),
      maximumAttempts: MAXIMUM_ATTEMPTS,
      handlers:
        role === "worker"
          ? createHandlers({
              seed,
              clock: () => self?.clock.clock ?? timeline.process().clock,
              healed: () => healed,
            })
          : undefined,
      isGone: (workerId) => knowsTheGone && gone.has(workerId),
      onHandled: (handled) => {
        note(`${name} ${handled.id} ${String(handled.attempt)} ${handled.outcome}`);
        try {
          checkHandled(disk.file(), handled);
        } catch (error) {
          // The receiver calls us from where nobody catches; the next check throws it.
          broken ??= error;
        }
      },
    });
    return self;
  }

  const network = createNetwork({
    seed,
    timeline,
    isFaulty: () => !healed && faults.includes("network"),
    intake: () => intake,
    onReceipt: (eventId, receipt, reachesSender) => {
      note(`${eventId} ${receipt.kind} ${String(reachesSender)}`);
      if (receipt.kind === "stored" || receipt.kind === "duplicate")
        acknowledged.add(keyOf(eventId).toString("hex"));
    },
  });

  const created = createSimulator({
    seed,
    calls: 0,
    clock: "real",
    wall: timeline.service,
    send: network.send,
  });
  assert.ok(created.ok, created.ok ? "" : created.message);
  const { simulator } = created;
  const registered = simulator.endpoints.register({
    url: "http://localhost:1/",
    secret: SECRET,
    eventTypes: [],
  });
  assert.ok(registered.ok);

  /** Buries what has died since, and starts anew what shall run. */
  function restartTheDead(): void {
    for (const process of [intake, ...workers]) {
      if (!process.isDead()) continue;
      note(`${process.name} is dead`);
      gone.add(process.name);
      process.close();
    }
    if (intake.isDead()) intake = start("intake");
    workers = workers.map((worker) => (worker.isDead() ? start("worker") : worker));
  }

  function check(): Picture {
    if (broken !== undefined) throw broken;
    if (network.failure() !== undefined) throw network.failure();
    const picture = takePicture(disk.file());
    checkPicture(picture, known);
    return picture;
  }

  const hands = createFaults({
    timeline,
    disk,
    network,
    simulator,
    note,
    intake: () => intake,
    workers: () => workers,
    endAll: (random) => {
      for (const process of [intake, ...workers]) process.killAfter(0);
      const lost = disk.cutPower(random);
      note(`power cut, ${String(lost)} commits lost`);
    },
  });

  intake = start("intake");
  workers = [start("worker"), start("worker")];
  try {
    for (let step = 0; step < STEPS; step += 1) {
      const random = createRandom(seed, "step", step);
      if (!skip.has(step)) {
        if (random.chance(0.5)) {
          const emitted = simulator.events.emit(
            { type: random.pick(EVENT_TYPES) },
            random.pick([1, 1, 2, 5]),
          );
          assert.ok(emitted.ok);
          for (const { event } of emitted.emitted)
            genuine.set(keyOf(event.id).toString("hex"), { isHandled: event.type !== UNHANDLED });
        }
        const fault = random.pick(FAULTS);
        if (faults.includes(fault) && random.chance(0.6)) await hands[fault](random);
      }
      await timeline.pass(random.pick([1, 50, 400, 1_500]));
      restartTheDead();
      check();
    }

    // No more trouble: everything must come to its end by itself.
    // Whatever its clock says, a lease is all that a vanished worker has.
    await timeline.pass(LEASE_MS + 2_000);
    const heldByTheDead = takePicture(disk.file()).holders.filter((holder) => gone.has(holder));
    assert.deepEqual(heldByTheDead, [], "R6: a worker vanished longer than a lease ago, and holds events");
    healed = true;
    timeline.setClock(0);
    let left = ["unfinished"];
    for (let step = 0; left.length > 0; step += 1) {
      assert.ok(
        step < MOST_HEALING_STEPS,
        `R6: still not finished after all trouble has ended: ${left.join(", ")}`,
      );
      await timeline.pass(2_000);
      const dueMs = simulator.clock.nextDueMs();
      const waitMs =
        dueMs === undefined ? 30_000 : Math.min(1_800_000, Math.max(0, dueMs - simulator.clock.now()));
      await timeline.suspend(waitMs);
      restartTheDead();
      const picture = check();
      left = [...picture.events.values()]
        .filter((event) => ["pending", "claimed"].includes(stateOf(picture, event)))
        .map((event) => `evt_${event.key} ${stateOf(picture, event)}`);
      if (dueMs !== undefined) left.push("a delivery");
    }
    const end = takePicture(disk.file());
    for (const event of end.events.values()) {
      const hasEffect = end.effects.some(({ eventId }) => keyOf(eventId).toString("hex") === event.key);
      note(`evt_${event.key} ${stateOf(end, event)} ${String(hasEffect)}`);
    }
    return {
      events: genuine.size,
      acknowledged: acknowledged.size,
      effects: end.effects.length,
      lives,
      faults,
      trace: trace.digest("hex"),
    };
  } finally {
    for (const process of [intake, ...workers]) {
      process.killAfter(0);
      process.close();
    }
    await simulator.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
