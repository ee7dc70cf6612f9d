import type { JournalEntry } from "../domain/journal.ts";
import { isSuccess } from "../domain/judgement.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { deliveryView } from "../control/views.ts";
import { type Output, timeText } from "./output.ts";

/** Prints each event that goes out and each attempt that ends, with `--json` attempts alone. Answers what ends it. */
export function printLiveLog(simulator: Simulator, output: Output): () => void {
  return simulator.journal.watch((entry) => {
    if (output.json) return printJson(simulator, output, entry);
    if (entry.kind === "event.created") {
      const event = simulator.events.find(entry.eventId);
      if (event) output.line(`${time(output)}  -->  ${output.style("bold", event.type)} [${event.id}]`);
    }
    if (entry.kind === "attempt.ended") {
      const line = attemptLine(simulator, output, entry.deliveryId, entry.number);
      if (line !== undefined) output.line(`${time(output)}  <--  ${line}`);
    }
  });
}

/** How one attempt went: `[200] POST url [evt_…] attempt 1, 12 ms`, and what follows from a failure. */
export function attemptLine(
  simulator: Simulator,
  output: Output,
  deliveryId: string,
  number: number,
): string | undefined {
  const delivery = simulator.deliveries.find(deliveryId);
  const attempt = simulator.deliveries.attempts(deliveryId).find((one) => one.number === number);
  if (delivery === undefined || attempt === undefined) return undefined;
  const result = String(attempt.httpStatus ?? attempt.error ?? "?");
  const shown = output.style(isSuccess(attempt.httpStatus ?? 0) ? "green" : "red", `[${result}]`);
  const duration = attempt.durationMs === null ? "" : `, ${attempt.durationMs} ms`;
  return `${shown} POST ${attempt.requestUrl} [${delivery.eventId}] attempt ${number}${duration}${consequence(delivery)}`;
}

function consequence(delivery: { state: string; nextAttemptAtMs: number | null }): string {
  if (delivery.state === "dead") return "; dead, no attempt is left";
  if (delivery.nextAttemptAtMs === null) return "";
  return `; next at ${timeText(new Date(delivery.nextAttemptAtMs).toISOString())}`;
}

function printJson(simulator: Simulator, output: Output, entry: JournalEntry): void {
  if (entry.kind !== "attempt.ended") return;
  const delivery = simulator.deliveries.summary(entry.deliveryId);
  if (delivery) output.value({ ...deliveryView(delivery), attempt: entry.number });
}

function time(output: Output): string {
  return output.style("dim", new Date().toTimeString().slice(0, 8));
}
