import type { Simulator } from "../verbs/simulator.ts";
import { deliveryView } from "../control/views.ts";
import { attemptLine } from "./first-attempts.ts";
import type { Output } from "./output.ts";

/** Prints each sent event and each attempt that ends; with `--json` only attempts. Returns a function that stops it. */
export function printLiveLog(simulator: Simulator, output: Output): () => void {
  return simulator.journal.watch((entry) => {
    if (entry.kind === "event.created") {
      const event = simulator.events.find(entry.eventId);
      if (event) output.line(`${time(output)}  -->  ${output.style("bold", event.type)} [${event.id}]`);
    }
    if (entry.kind !== "attempt.ended") return;
    const { deliveryId, number } = entry;
    const summary = simulator.deliveries.summary(deliveryId);
    const sent = simulator.deliveries.attempts(deliveryId).find((attempt) => attempt.number === number);
    if (summary === undefined || sent === undefined) return;
    const delivery = deliveryView(summary);
    const attempt = delivery.attempts.find((one) => one.number === number);
    output.value({ ...delivery, attempt: number });
    const line = attemptLine(delivery, attempt, { url: sent.requestUrl, id: delivery.event_id, output });
    output.line(`${time(output)}  <--  ${line}`);
  });
}

/** Wall time in the machine's zone, which a user compares with other logs. */
function time(output: Output): string {
  return output.style("dim", new Date().toTimeString().slice(0, 8));
}
