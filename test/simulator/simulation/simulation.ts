import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { FAILURE_FLAG_THRESHOLD } from "../../../simulator/domain/limits.ts";
import type { ClockMode } from "../../../simulator/domain/clock.ts";
import { createRandom } from "../../../simulator/domain/random.ts";
import { createSimulator } from "../../../simulator/service/simulator.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";
import { allDeliveries, openAttempts } from "../../helpers/records.ts";
import { checkDelivery, checkSent, type KnownEndpoint, type Recorded, snapshot } from "./invariants.ts";
import { createNetwork } from "./network.ts";

const HOUR_MS = 3_600_000;
const SPAN_MS = 40 * HOUR_MS;
const MOST_STEPS = 2_000;
const MOST_EMISSIONS = 8;
/** A file system in memory, if there is one, since thousands of data files are written. */
const DIRECTORY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export type SimulationResult = { attempts: number; deliveries: number; lives: number; steps: number };

/**
 * Forty hours of the service in virtual time, decided by `seed` alone: the real domain over a real data file, a random
 * network, crashes and restarts at any moment, a machine whose clock is set or that sleeps. Throws at the first broken
 * promise; the same seed breaks it again.
 */
export async function simulate(seed: number): Promise<SimulationResult> {
  const random = createRandom(seed, "simulation");
  const wall = createVirtualWall();
  const directory = mkdtempSync(join(DIRECTORY, "simulation-"));
  const mode: ClockMode = random.pick(["real", "real", "manual", "skip"]);
  const wire = new Map<string, Recorded[]>();
  const touched = new Set<string>();
  const endpoints = new Map<string, KnownEndpoint>();
  const failures = new Map<string, number>();
  let life = 0;
  let latestMs = 0;
  let emitted = 0;
  let broken: unknown;
  let simulator = open(join(directory, "0"));

  const network = createNetwork({
    random: createRandom(seed, "network"),
    wall,
    onSent(wired) {
      const secrets = [...endpoints.values()].map(({ secret }) => secret);
      try {
        const sent = checkSent(simulator, wired, wire, secrets);
        wire.set(sent.deliveryId, [...(wire.get(sent.deliveryId) ?? []), sent]);
      } catch (error) {
        // The simulator's caller would not catch this error, so the next check throws it.
        broken ??= error;
      }
    },
  });

  function open(dataFile: string): Simulator {
    const own = ++life;
    const created = createSimulator({
      dataFile,
      seed,
      calls: 0,
      clock: mode,
      wall,
      send: (request) => network.sendFor(own, () => own === life)(request),
    });
    assert.ok(created.ok, created.ok ? "" : created.message);
    created.simulator.journal.watch((entry) => {
      if (own !== life) return;
      if ("deliveryId" in entry) touched.add(entry.deliveryId);
      if (entry.kind !== "attempt.ended") return;
      const { endpointId = "" } = created.simulator.deliveries.find(entry.deliveryId) ?? {};
      const ended = created.simulator.deliveries.attempts(entry.deliveryId)[entry.number - 1];
      const isSuccess = ended?.httpStatus === 200 || ended?.httpStatus === 204;
      failures.set(endpointId, isSuccess ? 0 : (failures.get(endpointId) ?? 0) + 1);
    });
    return created.simulator;
  }

  /** Waits so many turns that all due attempts have begun and all answers are stored. */
  async function flush(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Checks the deliveries that have changed, or all of them. */
  function check(ids: Iterable<string> = touched): void {
    if (broken !== undefined) throw broken;
    const nowMs = simulator.clock.now();
    assert.ok(nowMs >= latestMs, "schedule time ran backwards");
    latestMs = nowMs;
    for (const id of ids) checkDelivery(simulator, id, wire.get(id) ?? [], endpoints);
    touched.clear();
    for (const { id, consecutiveFailures, flagged } of simulator.endpoints.list()) {
      assert.equal(consecutiveFailures, failures.get(id) ?? 0, "S5: failures in a row are miscounted");
      assert.equal(flagged, consecutiveFailures >= FAILURE_FLAG_THRESHOLD, "S5: the flag is wrong");
    }
  }

  function register(): void {
    const secret = `secret-${endpoints.size}`;
    const url = `http://localhost:${1 + endpoints.size}/`;
    const eventTypes = random.chance(0.3) ? [random.pick(EVENT_TYPES)] : [];
    const result = simulator.endpoints.register({ url, secret, eventTypes });
    assert.ok(result.ok);
    endpoints.set(result.endpoint.id, { secret, isRemoved: false });
  }

  /** A kill -9 (with the data file as it is at this moment) or a clean stop, and a new simulator. */
  async function restart(isOrderly: boolean): Promise<void> {
    const before = snapshot(simulator);
    const openBefore = openAttempts(simulator);
    const file = join(directory, String(life - 1));
    const next = join(directory, String(life));
    const old = simulator;
    const lost = openBefore.map(({ deliveryId }) => old.deliveries.find(deliveryId)?.endpointId ?? "");
    const copy = () => {
      for (const suffix of ["", "-wal"])
        if (existsSync(file + suffix)) copyFileSync(file + suffix, next + suffix);
    };
    if (!isOrderly) {
      copy();
      life++;
    }
    network.drop();
    await old.close();
    if (isOrderly) copy();
    else {
      life--;
      for (const endpointId of lost) failures.set(endpointId, (failures.get(endpointId) ?? 0) + 1);
    }
    if (random.chance(0.5)) wall.jump(random.pick([1_000, 90_000, HOUR_MS, 12 * HOUR_MS]));
    simulator = open(next);
    // A kill may set the clock back to its last stored time, by at most a second.
    if (!isOrderly) latestMs -= 1_000;
    rmSync(file, { force: true });
    rmSync(`${file}-wal`, { force: true });
    assert.deepEqual(snapshot(simulator), before, "S6: a restart has lost or changed something");
    check(before.ids);
  }

  async function act(): Promise<void> {
    const known = simulator.endpoints.list();
    const action = random.weighted([
      ["nothing", 70],
      ["event", 14],
      ["crash", 4],
      ["restart", 1],
      ["jump", mode === "real" ? 4 : 0],
      ["register", known.length < 3 ? 4 : 0],
      ["remove", known.length > 1 ? 1 : 0],
      ["move", 1],
      ["resend", 2],
    ]);
    if (action === "event") {
      if (++emitted > MOST_EMISSIONS) return;
      const result = simulator.events.emit({ type: random.pick(EVENT_TYPES) }, random.pick([1, 1, 1, 5]));
      assert.ok(result.ok);
    } else if (action === "crash" || action === "restart") {
      await restart(action === "restart");
    } else if (action === "jump") {
      wall.jump(random.pick([-12 * HOUR_MS, -HOUR_MS, HOUR_MS, 12 * HOUR_MS]));
      // The simulator notices it within a second; a kill may come only after that.
      wall.pass(1_000);
      await flush();
    } else if (action === "register") {
      register();
    } else if (action === "remove") {
      const { id } = random.pick(known);
      simulator.endpoints.remove(id);
      const endpoint = endpoints.get(id);
      if (endpoint) endpoint.isRemoved = true;
    } else if (action === "move") {
      simulator.endpoints.change(random.pick(known).id, { url: "http://localhost:9999/" });
    } else if (action === "resend") {
      const [newest] = simulator.deliveries.page({ limit: 1 }).deliveries;
      if (newest && endpoints.get(newest.endpointId)?.isRemoved === false)
        simulator.deliveries.resend(newest.id);
    }
  }

  /** Lets time pass to the next event of the network or schedule. */
  async function proceed(): Promise<void> {
    const dueMs = simulator.clock.nextDueMs();
    const dueInMs = dueMs === undefined ? undefined : Math.max(0, dueMs - simulator.clock.now());
    const arrivesInMs = network.nextInMs();
    if (mode === "manual" && arrivesInMs === undefined) {
      void simulator.clock.advance(random.pick([1, 60, 300, 1_800, 7_200, 43_200]));
    }
    const waits = [arrivesInMs, mode === "real" ? dueInMs : undefined].filter((ms) => ms !== undefined);
    wall.pass(Math.max(waits.length === 0 ? 1_000 : Math.min(...waits), random.pick([0, 0, 1, 1_000])));
    network.deliver();
    await flush();
  }

  try {
    register();
    const endMs = simulator.clock.now() + SPAN_MS;
    let steps = 0;
    while (simulator.clock.now() < endMs && steps < MOST_STEPS) {
      steps++;
      await act();
      await proceed();
      check();
    }
    // From here on only the schedule runs, to its end.
    while (simulator.clock.nextDueMs() !== undefined || network.nextInMs() !== undefined) {
      assert.ok(++steps < 2 * MOST_STEPS, "the deliveries never come to an end");
      await proceed();
    }
    check();
    const deliveries = allDeliveries(simulator);
    assert.ok(
      deliveries.every(({ state }) => state !== "attempting"),
      "a delivery is left without an end",
    );
    const attempts = [...wire.values()].reduce((sum, sent) => sum + sent.length, 0);
    return { attempts, deliveries: deliveries.length, lives: life, steps };
  } finally {
    await simulator.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
