import assert from "node:assert/strict";
import type { Send } from "../../simulator/domain/flights.ts";
import { createRandom } from "../../simulator/domain/random.ts";
import { createSimulator } from "../../simulator/service/simulator.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";
import type { Timeline } from "./timeline.ts";

/** More than one batch of `reconcile`, so that it may break off between two and continue from its bookmark. */
const HISTORY_CALLS = 130;

/** The simulated service with one endpoint, and the organization whose calls and voicemails its REST API shows. */
export function createService(options: { seed: number; secret: string; timeline: Timeline; send: Send }): {
  simulator: Simulator;
  organizationId: string;
} {
  const { seed, secret, timeline, send } = options;
  const calls = createRandom(seed, "history").chance(0.1) ? HISTORY_CALLS : 0;
  const created = createSimulator({ seed, calls, clock: "real", wall: timeline.service, send });
  assert.ok(created.ok, created.ok ? "" : created.message);
  const { simulator } = created;
  const registered = simulator.endpoints.register({ url: "http://localhost:1/", secret, eventTypes: [] });
  assert.ok(registered.ok);
  const [first] = simulator.world.organizations();
  assert.ok(first);
  return { simulator, organizationId: first.organization.id };
}
