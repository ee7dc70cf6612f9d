import { expect, onTestFinished, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { reconcile } from "../../receiver/operations/reconcile.ts";
import { createRestClient } from "../../receiver/operations/rest-client.ts";
import { startSimulator } from "../../simulator/index.ts";
import { SECRET } from "../receiver/helpers/events.ts";
import { startTestReceiver } from "../receiver/helpers/receiver.ts";
import { hurriedClock } from "../receiver/helpers/rest-service.ts";

test("without an outage reconcile finds nothing missing after scenarios or single triggers, except a transfer", async () => {
  const { store, url } = await startTestReceiver();
  const simulator = await startSimulator({ calls: 0 });
  onTestFinished(() => simulator.close());
  simulator.endpoints.add({ url, secret: SECRET });
  const clients = simulator
    .organizations()
    .map(({ apiKey }) => createRestClient({ baseUrl: simulator.url, key: apiKey }));
  onTestFinished(async () => void (await Promise.all(clients.map((api) => api.close()))));
  const reconciled = async () => {
    const found = { healed: 0, alreadyThere: 0 };
    for (const api of clients) {
      const given = { store, api, clock: hurriedClock(), sinceMs: 0, dryRun: false };
      const { problem, healed, alreadyThere } = await reconcile(given);
      expect(problem).toBeNull();
      found.healed += healed.length;
      found.alreadyThere += alreadyThere;
    }
    return found;
  };

  for (const story of ["after-hours-voicemail", "failed-transfer"] as const) await simulator.tell(story);
  await simulator.clock.advance("1d");
  expect(await reconciled()).toEqual({ healed: 0, alreadyThere: 9 });

  for (const type of EVENT_TYPES) if (type !== "call.transferred") await simulator.emit(type);
  const { events } = await simulator.emit("order.created");
  expect(await reconciled()).toEqual({ healed: 0, alreadyThere: 11 });
  // Its object is the call itself, which the REST list contains, too.
  await simulator.emit("call.transferred");
  expect(await reconciled()).toEqual({ healed: 1, alreadyThere: 12 });

  const ended = { object: { id: events[0]?.data.object["call_id"] } };
  await simulator.emit("call.completed", ended);
  expect(await reconciled()).toEqual({ healed: 0, alreadyThere: 14 });
});
