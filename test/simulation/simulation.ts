import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LEASE_MS } from "../../receiver/engine.ts";
import { keyOf } from "../../receiver/engines/sqlite/inbox-file.ts";
import type { ReconcileReport } from "../../receiver/operations/reconcile.ts";
import { EVENT_TYPES } from "../../shared/events.ts";
import { createRandom, type Random } from "../../simulator/domain/random.ts";
import { createAttempts } from "./attempts.ts";
import { checkPicture, type Known, type Picture, stateOf, takePicture } from "./checker.ts";
import { createCrew, type Role } from "./crew.ts";
import { createDisk } from "./disk.ts";
import { playToTheEnd } from "./ending.ts";
import { createFaults, FAULTS, type Fault } from "./faults.ts";
import { createHandlers, UNHANDLED } from "./handlers.ts";
import { createNetwork } from "./network.ts";
import { startProcess, type ReceiverProcess } from "./receiver-process.ts";
import { createRestApi } from "./rest-api.ts";
import { createService } from "./service.ts";
import { createTimeline } from "./timeline.ts";

/** How many steps a run has before all trouble ends. */
export const STEPS = 60;
const SECRET = "whsec_of_a_simulation";
const MAXIMUM_ATTEMPTS = 3;
const DIRECTORY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export type SimulationResult = {
  events: number;
  acknowledged: number;
  healed: number;
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
 * `print` hears of everything that happens.
 */
export async function simulate(
  seed: number,
  skip: ReadonlySet<number> = new Set(),
  print: (line: string) => void = () => undefined,
): Promise<SimulationResult> {
  const directory = mkdtempSync(join(DIRECTORY, "receiver-simulation-"));
  const timeline = createTimeline();
  const disk = createDisk(directory);
  const trace = createHash("sha256");
  const note = (text: string): void => {
    const line = `${String(timeline.service.monotonicMs())} ${text}\n`;
    trace.update(line);
    print(line);
  };
  const faults = FAULTS.filter((_, index) => createRandom(seed, "swarm", index).chance(0.5));
  const acknowledged = new Set<string>();
  const genuine = new Map<string, { isHandled: boolean }>();
  const known: Known = {
    acknowledged,
    genuine,
    maximumAttempts: MAXIMUM_ATTEMPTS,
    stored: new Set(),
    aliases: new Map(),
    finished: new Set(),
    forgotten: new Set(),
  };
  const knowsTheGone = createRandom(seed, "knows").chance(0.5);
  const attempts = createAttempts(() => timeline.service.monotonicMs());
  let healed = false;
  let healedEvents = 0;
  let lives = 0;
  /** Ids of the processes that have died. */
  const gone = new Set<string>();
  let broken: unknown;
  // The receiver calls us from where nobody catches; the next check throws it.
  const fail = (error: unknown): void => void (broken ??= error);

  function start(role: Role): ReceiverProcess {
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
              onBegin: (handler, id, attempt) => attempts.begins(name, { handler, id, attempt }),
            })
          : undefined,
      predecessors: knowsTheGone ? [...gone] : [],
      onHandled: (handled) => {
        note(`${name} ${handled.handler} ${handled.id} ${String(handled.attempt)} ${handled.outcome}`);
        if (handled.outcome === "done") known.finished.add(keyOf(handled.id).toString("hex"));
        try {
          attempts.ends(name, handled);
        } catch (error) {
          fail(error);
        }
      },
    });
    return self;
  }

  const network = createNetwork({
    seed,
    timeline,
    isFaulty: () => !healed && faults.includes("network"),
    intake: () => crew.intake(),
    onReceipt: (eventId, receipt, reachesSender) => {
      note(`${eventId} ${receipt.kind} ${String(reachesSender)}`);
      if (receipt.kind === "stored" || receipt.kind === "duplicate")
        acknowledged.add(keyOf(eventId).toString("hex"));
    },
    fail,
  });
  const { simulator, organizationId } = createService({ seed, secret: SECRET, timeline, send: network.send });

  /** An operator's process asks the REST API for what no event has brought, and ends. */
  async function heal(operator: ReceiverProcess, sinceMs: number, random: Random): Promise<ReconcileReport> {
    const isFaulty = (): boolean => !healed && faults.includes("network");
    const dryRun = !healed && random.chance(0.1);
    const api = createRestApi({
      simulator,
      organizationId,
      clock: operator.clock.clock,
      random,
      isFaulty,
      onShown: (key, type) => genuine.set(key, { isHandled: type !== UNHANDLED }),
    });
    const report = await operator.reconcile({ api, sinceMs, dryRun });
    note(`${operator.name} ${JSON.stringify(report)}`);
    if (!dryRun) healedEvents += report.healed.length;
    operator.killAfter(0);
    return report;
  }

  function check(): Picture {
    if (broken !== undefined) throw broken;
    const picture = takePicture(disk.file());
    checkPicture(picture, known);
    return picture;
  }

  const crew = createCrew({ start, note, gone });
  const hands = createFaults({
    timeline,
    disk,
    network,
    simulator,
    note,
    fail,
    intake: crew.intake,
    workers: crew.workers,
    reconcile: (random, sinceMs) => {
      const operator = crew.startOperator();
      heal(operator, operator.clock.clock.nowMs() - sinceMs, random).catch((error: unknown) => {
        note(`${operator.name} ${String(error)}`);
        operator.killAfter(0);
      });
      return operator;
    },
    endAll: (random) => {
      crew.killAll();
      const lost = disk.cutPower(random);
      note(`power cut, ${String(lost)} commits lost`);
    },
  });

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
        if (faults.includes(fault) && random.chance(0.6)) {
          note(fault);
          await hands[fault](random);
        }
      }
      await timeline.pass(random.pick([1, 50, 400, 1_500]));
      crew.restartTheDead();
      check();
    }

    // No more trouble: everything must come to its end by itself.
    // Whatever its clock says, a lease is all that a vanished worker has, once no handler dawdles in its transaction.
    healed = true;
    crew.spareAll();
    await timeline.pass(LEASE_MS + 2_000);
    const heldByTheDead = takePicture(disk.file()).holders.filter((holder) => gone.has(holder));
    assert.deepEqual(heldByTheDead, [], "R6: a worker vanished longer than a lease ago, and holds events");
    timeline.setClock(0);
    await playToTheEnd({
      timeline,
      simulator,
      organizationId,
      look: () => {
        crew.restartTheDead();
        return check();
      },
      reconcile: async () => heal(crew.startOperator(), 0, createRandom(seed, "last reconcile")),
    });
    const end = takePicture(disk.file());
    for (const event of end.events.values()) {
      const hasEffect = end.effects.some(({ eventId }) => keyOf(eventId).toString("hex") === event.key);
      note(`evt_${event.key} ${stateOf(end, event)} ${String(hasEffect)}`);
    }
    return {
      events: genuine.size,
      acknowledged: acknowledged.size,
      healed: healedEvents,
      effects: end.effects.length,
      lives,
      faults,
      trace: trace.digest("hex"),
    };
  } finally {
    crew.close();
    await simulator.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
