import { expect, test } from "vitest";
import { verify } from "../../../shared/signature.ts";
import { deliveryDetailView } from "../../../simulator/control/views.ts";
import type { FaultName } from "../../../simulator/domain/faults.ts";
import { startService } from "../../helpers/service.ts";
import { answering, openSimulator, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

test.each<[FaultName | "none", object]>([
  ["none", { age_at_send_seconds: 0, matches: true, verdict: "accepted" }],
  ["stale-timestamp", { age_at_send_seconds: 600, matches: true, verdict: "timestamp_too_old" }],
  ["future-timestamp", { age_at_send_seconds: -600, matches: true, verdict: "timestamp_too_new" }],
  ["bad-signature", { age_at_send_seconds: 0, matches: false, verdict: "no_match" }],
  ["tampered-body", { age_at_send_seconds: 0, matches: false, verdict: "no_match" }],
  ["missing-parts", { age_at_send_seconds: 0, matches: null, verdict: "signature_missing" }],
])("the view of a signature with the fault %s", async (name, shown) => {
  const simulator = openSimulator({ clock: "manual", send: answering(401) });
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

test("an attempt that was made can be signed again as it would be now", async () => {
  const wall = createVirtualWall();
  const { ask, simulator } = await startService({ clock: "manual", wall, send: answering(500) });
  const { id: endpointId, secret } = register(simulator, "http://localhost:9/hooks?a=1");
  const faults = [{ name: "bad-signature", attempts: 1 } as const];
  simulator.events.emit({ type: "call.completed", faults });
  await simulator.clock.advance(3_600);
  wall.pass(5_000);
  const [delivery] = simulator.deliveries.page({ limit: 1 }).deliveries;
  const path = `/deliveries/${delivery?.id ?? ""}/sign`;
  const signed = async (attempt: number) => {
    const { body } = await ask("POST", path, { attempt });
    expect(body).toMatchObject({ object: "request", url: "http://localhost:9/hooks?a=1" });
    expect(body["line"]).toBe("POST /hooks?a=1 HTTP/1.1");
    const { "x-service-signature": header = "" } = body["headers"] as Record<string, string>;
    const nowSeconds = Math.floor(wall.nowMs() / 1_000);
    expect(header).toMatch(new RegExp(`^t=${nowSeconds},`));
    const bytes = Buffer.from(String(body["body"]));
    return verify({ headers: [header], body: bytes, secrets: [secret], nowSeconds }).ok;
  };
  expect([await signed(1), await signed(2), await signed(4)]).toEqual([false, true, true]);
  expect(await ask("POST", path, { attempt: 5 })).toMatchObject({
    status: 404,
    body: { message: `${delivery?.id} has no attempt 5: 4 were made so far.` },
  });
  for (const attempt of [0, 7, 1.5]) expect((await ask("POST", path, { attempt })).status).toBe(400);
  await ask("DELETE", `/endpoints/${endpointId}`);
  expect(await ask("POST", path, { attempt: 1 })).toMatchObject({
    status: 409,
    body: {
      error: "endpoint_deleted",
      message: `The endpoint ${endpointId} was deleted, and its secret with it.`,
    },
  });
});
