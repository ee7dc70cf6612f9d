import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Random } from "../../simulator/domain/random.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";
import { checkPruned, takePicture } from "./checker.ts";
import type { Disk } from "./disk.ts";
import type { createNetwork } from "./network.ts";
import type { ReceiverProcess } from "./receiver-process.ts";
import type { Timeline } from "./timeline.ts";

/** The kinds of trouble, and what operators and strangers do. A seed has about half of them. */
export const FAULTS = [
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
  "reconcile",
  "resent",
  "stranger",
] as const;

const DAY_MS = 86_400_000;

/** Operators raise it and lower it. */
const BODY_RETENTIONS_MS = [20_000, 20_000, 20_000, 300_000];

export type Fault = (typeof FAULTS)[number];

/** Brings each kind of trouble about, once. */
export function createFaults(world: {
  timeline: Timeline;
  disk: Disk;
  network: ReturnType<typeof createNetwork>;
  simulator: Simulator;
  note: (text: string) => void;
  intake: () => ReceiverProcess;
  workers: () => readonly ReceiverProcess[];
  /** Starts an operator's process that asks the REST API what no event has brought. */
  reconcile: (random: Random, sinceMs: number) => ReceiverProcess;
  /** A promise was seen broken where nobody waits for it. */
  fail: (error: unknown) => void;
  /** Cuts the power; everything that runs is dead then. */
  endAll: (random: Random) => void;
}): Record<Fault, (random: Random) => Promise<void>> {
  const { timeline, disk, network, simulator, note } = world;

  return {
    // It is at work in each request.
    network: async () => undefined,
    "killed worker": async (random) => {
      random.pick(world.workers()).killAfter(random.pick([0, 1, 2, 3, 5, 8, 13, 21]));
    },
    "killed intake": async (random) => {
      world.intake().killAfter(random.pick([0, 1, 2, 3, 4]));
    },
    "power cut": async (random) => {
      await timeline.pass(random.pick([0, 30, 300]));
      world.endAll(random);
    },
    "stopped worker": async (random) => {
      const worker = random.pick(world.workers());
      worker.clock.stop();
      note(`${worker.name} stops`);
      await timeline.pass(random.pick([700, 5_000, random.int(34_000, 42_000)]));
      worker.clock.continue();
      note(`${worker.name} goes on`);
    },
    "suspended machine": async (random) =>
      timeline.suspend(random.pick([1_000, 40_000, 3_600_000, 30 * 3_600_000])),
    "clock set": async (random) => {
      const aheadMs = random.pick([-3_600_000, -60_000, 0, 0, 60_000, 3_600_000]);
      // An event that was checked by one clock and is dated by another, an hour away, has come an hour before it was made:
      // nobody promises to understand that.
      for (let waits = 0; waits < 1_000 && world.intake().isStoring(); waits += 1) await timeline.pass(5);
      timeline.setClock(aheadMs);
    },
    "drained worker": async (random) => {
      const worker = random.pick(world.workers());
      // Should it be killed meanwhile, nobody hears of its end; and what a lock kept it from returning is taken from it.
      const drained = async (): Promise<void> => {
        await worker.drain();
        const { holders } = takePicture(disk.file());
        assert.ok(!holders.includes(worker.name), `R8: ${worker.name} has ended, and holds events`);
      };
      drained().catch((error: unknown) => {
        note(`drain: ${String(error)}`);
        if (error instanceof assert.AssertionError) world.fail(error);
      });
      await timeline.pass(3_000);
    },
    checkpoint: async () => disk.checkpoint(),
    retention: async (random) => {
      const before = takePicture(disk.file());
      const worker = random.pick(world.workers());
      const cutsPower = random.chance(0.3);
      if (cutsPower || random.chance(0.3)) worker.killAfter(random.int(1, 60));
      // A lock, or its end: the next run goes on from there.
      worker
        .prune(random.pick(BODY_RETENTIONS_MS))
        .catch((error: unknown) => note(`retention: ${String(error)}`));
      await timeline.pass(cutsPower ? 1 : 500);
      if (cutsPower) world.endAll(random);
      checkPruned(before, takePicture(disk.file()));
    },
    requeue: async () => {
      const worker = world.workers()[0];
      if (!worker || worker.isDead()) return;
      const ids = [...takePicture(disk.file()).events.keys()].map((key) => `evt_${key}`);
      worker.engine.ledger.requeue(ids).catch((error: unknown) => note(`requeue: ${String(error)}`));
      await timeline.pass(50);
    },
    reconcile: async (random) => {
      const operator = world.reconcile(random, random.pick([60_000, 600_000, 90 * DAY_MS]));
      if (random.chance(0.4)) operator.killAfter(random.int(1, 60));
      await timeline.pass(random.pick([50, 500, 3_000]));
    },
    resent: async (random) => {
      const all = simulator.deliveries.page({ limit: 50 }).deliveries;
      if (all.length > 0) simulator.deliveries.resend(random.pick(all).id);
      if (network.overheard.length > 0) network.repeat(random.pick(network.overheard));
    },
    stranger: async (random) => {
      if (network.overheard.length === 0) return;
      const one = random.pick(network.overheard);
      const id = createHash("md5")
        .update(`${one.eventId} ${String(random.next())}`)
        .digest("hex");
      network.forge(one, Buffer.from(one.body.toString().replace(one.eventId, `evt_${id}`)));
    },
  };
}
