import { type Scenario, parseScenario } from "./scenario.ts";
import afterHoursVoicemail from "./scenarios/after-hours-voicemail.json" with { type: "json" };
import busyFriday from "./scenarios/busy-friday.json" with { type: "json" };
import failedTransfer from "./scenarios/failed-transfer.json" with { type: "json" };
import orderThenComplaint from "./scenarios/order-then-complaint.json" with { type: "json" };
import outage from "./scenarios/outage.json" with { type: "json" };

/** The stories that come with the simulator. Users add their own in the same form. */
export const SCENARIOS: readonly Scenario[] = [
  afterHoursVoicemail,
  busyFriday,
  failedTransfer,
  orderThenComplaint,
  outage,
].map(parse);

function parse(json: unknown): Scenario {
  const parsed = parseScenario(json);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.scenario;
}
