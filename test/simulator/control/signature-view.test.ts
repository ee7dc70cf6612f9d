import { expect, test } from "vitest";
import { deliveryDetailView } from "../../../simulator/control/views.ts";
import type { FaultName } from "../../../simulator/domain/faults.ts";
import { emitOne, openSimulator, register } from "../../helpers/simulator.ts";

test.each<[FaultName | "none", object]>([
  ["none", { age_at_send_seconds: 0, matches: true, verdict: "accepted" }],
  ["stale-timestamp", { age_at_send_seconds: 600, matches: true, verdict: "timestamp_too_old" }],
  ["future-timestamp", { age_at_send_seconds: -600, matches: true, verdict: "timestamp_too_new" }],
  ["bad-signature", { age_at_send_seconds: 0, matches: false, verdict: "no_match" }],
  ["tampered-body", { age_at_send_seconds: 0, matches: false, verdict: "no_match" }],
  ["missing-parts", { age_at_send_seconds: 0, matches: null, verdict: "signature_missing" }],
])("what is shown of a signature with the fault %s", async (name, shown) => {
  const simulator = openSimulator({
    clock: "manual",
    send: async () => ({ outcome: { status: 401 }, durationMs: 1 }),
  });
  register(simulator, "http://localhost:9/", { faults: name === "none" ? [] : [{ name }] });
  const id = emitOne(simulator);
  await simulator.settled();
  const detail = simulator.deliveries.detail(id);
  const [attempt] = detail.ok ? deliveryDetailView(detail).attempts : [];
  expect(attempt?.signature).toMatchObject({ ...shown, tolerance_seconds: 300 });
});
