import { copyFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { Send } from "../../../simulator/domain/flights.ts";
import {
  emit,
  emitOne,
  openSimulator,
  register,
  resendAll,
  temporaryDirectory,
} from "../../helpers/simulator.ts";

/** More than are sent again, and than are judged, in one turn. */
const AT_ONCE = 1_000;

test("work in several batches covers every item, the first and the last of each batch", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  // No endpoint answers: this makes deliveries, and only a few attempts.
  const send: Send = ({ signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve({ outcome: { error: "interrupted" }, durationMs: 1 }));
    });
  const first = openSimulator({ dataFile, clock: "manual", send });
  const calls = register(first, "http://localhost:9/calls", { eventTypes: ["call.completed"] });
  const orders = register(first, "http://localhost:9/orders", { eventTypes: ["order.created"] });
  emit(first, "call.completed", AT_ONCE);
  emitOne(first, "order.created");
  await first.close();
  const file = new Database(dataFile);
  // As a simulator leaves them if it ended before it had judged them.
  file.exec(
    "UPDATE deliveries SET state = 'dead', next_attempt_at = NULL, verdict = 'waiting', attempts_made = 6",
  );
  file.close();
  const copy = `${dataFile}.copy`;
  copyFileSync(dataFile, copy);

  const second = openSimulator({ dataFile, clock: "manual", send });
  const judged = (endpointId: string, count: number) => ({
    endpointId,
    meant: "honest",
    result: "unknown",
    count,
  });
  const counts = second.verdicts.counts();
  expect(counts).toHaveLength(2);
  expect(counts).toEqual(expect.arrayContaining([judged(calls.id, AT_ONCE), judged(orders.id, 1)]));
  expect(await resendAll(second)).toMatchObject({ state: "done", total: AT_ONCE + 1, sent: AT_ONCE + 1 });
  const third = openSimulator({ dataFile: copy, clock: "manual", send });
  expect(await resendAll(third, { endpointId: calls.id })).toMatchObject({ sent: AT_ONCE });
});
