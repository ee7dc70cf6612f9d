import assert from "node:assert/strict";
import type { ReconcileReport } from "../../receiver/operations/reconcile.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";
import { type Picture, stateOf } from "./checker.ts";
import { healable } from "./rest-api.ts";
import type { Timeline } from "./timeline.ts";

/** Leases, backoffs and the schedule have come to their end by then, many times over. */
const MOST_STEPS = 400;
const LONGEST_WAIT_MS = 1_800_000;

/**
 * Plays on without trouble. Every event must come to its end (R4, R6); then `reconcile` must find what no event has
 * brought, and nothing else, and that must come to its end as well.
 */
export async function playToTheEnd(world: {
  timeline: Timeline;
  simulator: Simulator;
  organizationId: string;
  look: () => Picture;
  reconcile: () => Promise<ReconcileReport>;
}): Promise<void> {
  await finishAll();
  let playing = true;
  const reconciled = Promise.allSettled([world.reconcile()]).finally(() => (playing = false));
  for (let step = 0; step < MOST_STEPS; step += 1) {
    await world.timeline.pass(2_000);
    world.look();
    if (!playing) break;
  }
  assert.ok(!playing, "reconcile does not come to its end");
  const [outcome] = await reconciled;
  if (outcome.status === "rejected") throw outcome.reason;
  const report = outcome.value;
  assert.ok(report.finished, `reconcile does not finish: ${report.problem ?? ""}`);
  checkHealed(await finishAll(), Date.parse(report.since));

  async function finishAll(): Promise<Picture> {
    const { timeline, simulator } = world;
    for (let step = 0, left = ["unfinished"]; ; step += 1) {
      assert.ok(step < MOST_STEPS, `R6: not finished after all trouble has ended: ${left.join(", ")}`);
      await timeline.pass(2_000);
      const dueMs = simulator.clock.nextDueMs();
      const waitMs =
        dueMs === undefined ? 30_000 : Math.min(LONGEST_WAIT_MS, Math.max(0, dueMs - simulator.clock.now()));
      await timeline.suspend(waitMs);
      const picture = world.look();
      left = [...picture.events.values()]
        .filter((event) => ["pending", "claimed"].includes(stateOf(picture, event)))
        .map((event) => `evt_${event.key} ${stateOf(picture, event)}`);
      if (dueMs !== undefined) left.push("a delivery");
      if (left.length === 0) return picture;
    }
  }

  /** Whatever the REST API shows since then has come, by whichever way. */
  function checkHealed(picture: Picture, sinceMs: number): void {
    const came = new Set(picture.effects.map(({ type, objectId }) => `${type} ${objectId}`));
    for (const { objectId, type } of picture.events.values()) came.add(`${type} ${String(objectId)}`);
    const missing = healable(world.simulator, world.organizationId)
      .filter(({ createdAtMs }) => createdAtMs >= sinceMs)
      .map(({ type, objectId }) => `${type} ${objectId}`)
      .filter((object) => !came.has(object));
    assert.deepEqual(missing, [], "reconcile has finished, and these have never come");
  }
}
