import { expect, test } from "vitest";
import { deliveryDetailView } from "../../../simulator/control/views.ts";
import type { FaultName } from "../../../simulator/domain/faults.ts";
import { openSimulator, register } from "../../helpers/simulator.ts";

test.each<[FaultName | "none", object]>([
  ["none", { age_at_send_seconds: 0, matches: true, verdict: "accepted" }],
  ["stale-timestamp", { age_at_send_seconds: 600, matches: true, verdict: "timestamp_too_old" }],
  ["future-timestamp", { age_at_send_seconds: -600, matches: true, verdict: "timestamp_too_new" }],
  ["bad-signature", { age_at_send_seconds: 0, matches: false, verdict: "no_match" }],
  ["tampered-body", { age_at_send_seconds: 0, matches: false, verdict: "no_match" }],
  ["missing-parts", { age_at_send_seconds: 0, matches: null, verdict: "signature_missing" }],
])("the view of a signature with the fault %s", async (name, shown) => {
  const simulator = openSimulator({
    clock: "manual",
    send: async () => ({ outcome: { status: 401 }, durationMs: 1 }),
  });
  register(simulator, "http://localhost:9/", { faults: name === "none" ? [] : [{ name }] });
  const emitted = simulator.events.emit({ type: "call.completed", object: { transcript: "Zoë 🍕" } });
  const [created] = emitted.ok ? emitted.emitted.flatMap(({ deliveries }) => deliveries) : [];
  await simulator.settled();
  const detail = simulator.deliveries.detail(created?.id ?? "");
  const [attempt] = detail.ok ? deliveryDetailView(detail).attempts : [];
  expect(attempt?.signature).toMatchObject({ ...shown, tolerance_seconds: 300 });
  expect(attempt?.signature.header).toBe(attempt?.request.headers["x-service-signature"]);
  expect(attempt?.signature.problem).toBe(name === "missing-parts" ? "signature_missing" : null);
  const { t, signed_bytes: signedBytes } = attempt?.signature ?? {};
  // Counted in bytes, since a character may have several.
  expect(signedBytes).toBe(t && `${t}.`.length + Buffer.byteLength(attempt?.request.body ?? ""));
  const start = `${t}.${attempt?.request.body.slice(0, 120)}`;
  expect(attempt?.signature.signed_string_start).toBe(t && start);
  // Without its secret it cannot be checked.
  simulator.endpoints.remove(detail.ok ? detail.summary.endpointId : "");
  const later = simulator.deliveries.detail(created?.id ?? "");
  const [left] = later.ok ? deliveryDetailView(later).attempts : [];
  expect(left?.signature).toMatchObject({ matches: null, verdict: null });
});
