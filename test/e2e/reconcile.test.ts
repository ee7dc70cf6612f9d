import { expect, onTestFinished, test } from "vitest";
import { reconcile } from "../../receiver/operations/reconcile.ts";
import { createRestClient } from "../../receiver/operations/rest-client.ts";
import { startSimulator } from "../../simulator/index.ts";
import { SECRET } from "../receiver/helpers/events.ts";
import { startTestReceiver } from "../receiver/helpers/receiver.ts";
import { hurriedClock } from "../receiver/helpers/rest-service.ts";

test("without an outage there is nothing to heal after a story, and after a single trigger only its call", async () => {
  const { store, url } = await startTestReceiver();
  const simulator = await startSimulator({ calls: 0 });
  onTestFinished(() => simulator.close());
  simulator.endpoints.add({ url, secret: SECRET });
  const [restaurant] = simulator.organizations();
  const api = createRestClient({ baseUrl: simulator.url, key: restaurant?.apiKey ?? "" });
  onTestFinished(() => api.close());
  const healed = async () => {
    const clock = hurriedClock();
    const given = { store, api, clock, sinceMs: 0, dryRun: false, maxBodyBytes: 1_048_576 };
    const report = await reconcile({ ...given, onProgress: () => undefined });
    return { problem: report.problem, there: report.alreadyThere > 0, healed: report.healed };
  };

  for (const story of ["after-hours-voicemail", "failed-transfer"] as const) await simulator.tell(story);
  await simulator.clock.advance("1d");
  expect(await healed()).toEqual({ problem: null, there: true, healed: [] });

  const { events } = await simulator.emit("order.created");
  const objectId = events[0]?.data.object["call_id"];
  expect((await healed()).healed).toMatchObject([{ type: "call.completed", objectId }]);
});
