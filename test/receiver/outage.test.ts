import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openEngine } from "../../receiver/engines/open.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { startReceiver } from "../../receiver/receiver.ts";
import { reconcile } from "../../receiver/operations/reconcile.ts";
import { createRestClient } from "../../receiver/operations/rest-client.ts";
import type { EventType } from "../../shared/events.ts";
import { startSimulator } from "../../simulator/index.ts";
import { SECRET } from "./helpers/events.ts";
import { testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

const TYPES: EventType[] = ["call.completed", "call.transferred", "voicemail.created", "order.created"];

test("an outage past the sixth attempt is healed, and exactly what cannot be healed is named", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const run = async (port: string) => {
    const config = testConfig({ DATABASE_URL: `sqlite:${file}`, RECEIVER_ROLE: "ingest", PORT: port });
    const engine = await openEngine({ databaseFile: file, clock: systemClock });
    const log = createLog({ level: "silent" });
    const receiver = await startReceiver({
      config,
      engine,
      clock: systemClock,
      log,
      environment: {},
    });
    return { engine, ...receiver };
  };
  const before = await run("0");
  const simulator = await startSimulator({ clock: "skip", calls: 10 });
  onTestFinished(() => simulator.close());
  const restaurant = simulator.organizations().find(({ industry }) => industry === "restaurant")!;
  simulator.endpoints.add({ url: before.url!, secret: SECRET });

  const emit = async (type: EventType) => {
    const { events, deliveries } = await simulator.emit(type, { orgId: restaurant.id });
    const [event] = events;
    return { type, id: event!.id, objectId: String(event!.data.object["id"]), state: deliveries[0]!.state };
  };
  const beganAtMs = Math.floor(simulator.clock.now().getTime() / 1_000) * 1_000;
  const arrived = await emit("call.completed");
  expect(arrived.state).toBe("delivered");

  const { port } = new URL(before.url!);
  await before.stop();
  const lost = [];
  for (const type of TYPES) lost.push(await emit(type));
  expect(lost.map(({ state }) => state)).toEqual(TYPES.map(() => "dead"));

  const after = await run(port);
  onTestFinished(after.stop);
  const clock = { ...systemClock, sleep: async () => undefined };
  const api = createRestClient({
    baseUrl: simulator.url,
    key: restaurant.apiKey,
    clock,
    random: Math.random,
  });
  onTestFinished(api.close);
  const options = {
    engine: after.engine,
    api,
    clock,
    sinceMs: beganAtMs,
    dryRun: false,
    maxBodyBytes: 1_048_576,
    onProgress: () => undefined,
  };
  const report = await reconcile(options);

  expect(report).toMatchObject({ finished: true });
  const healed = report.healed.map(({ type, objectId }) => `${type} ${objectId}`);
  for (const { type, objectId } of lost.filter((event) => event.type !== "order.created")) {
    expect(healed).toContain(`${type} ${objectId}`);
  }
  expect(healed).not.toContain(`call.completed ${arrived.objectId}`);
  expect(report.cannotBeHealed.map(({ type }) => type)).toEqual(["order.created", "booking.created"]);
  expect(await after.engine.ledger.list({ type: "order.created" }, { limit: 10 })).toEqual([]);

  // What the dashboard can still do: the order is sent again. The call that comes again is a duplicate.
  const again = lost.filter(({ type }) => type === "order.created" || type === "call.completed");
  for (const { id } of again) {
    const [delivery] = simulator.deliveries.list({ eventId: id });
    await simulator.deliveries.resend(delivery!.id);
  }
  expect(await after.engine.ledger.list({ type: "order.created" }, { limit: 10 })).toHaveLength(1);
  expect(await after.engine.ledger.find(again[0]!.id)).toMatchObject({
    source: "reconcile",
    duplicates: 1,
  });
  expect(await reconcile(options)).toMatchObject({ finished: true, healed: [] });
});
