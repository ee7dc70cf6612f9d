import { EVENT_TYPES } from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";

/** Bodies of events that differ in their ids, every type in turn, without the cost of making each up. */
export function createEventSource(options: { runId: string; nowSeconds: () => number }) {
  const { runId, nowSeconds } = options;
  const templates = EVENT_TYPES.map((type) => {
    const [before = "", after = ""] = JSON.stringify(
      sampleEnvelope(type, { id: PLACE_OF_ID, created: PLACE_OF_TIME }),
    ).split(PLACE_OF_ID);
    return { before, after };
  });

  return {
    /** The body of event `number` of this run: the same number has the same id. */
    body(number: number): Buffer {
      const { before, after } = templates[number % templates.length] ?? { before: "", after: "" };
      const id = `evt_${runId}${number.toString(16).padStart(16, "0")}`;
      return Buffer.from(before + id + after.replace(String(PLACE_OF_TIME), String(nowSeconds())));
    },
  };
}

const PLACE_OF_ID = "evt_ffffffffffffffffffffffffffffffff";
const PLACE_OF_TIME = 1_234_567_891;
