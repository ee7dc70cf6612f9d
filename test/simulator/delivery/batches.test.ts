import { copyFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { Send } from "../../../simulator/domain/flights.ts";
import { emit, emitOne, openSimulator, register, temporaryDirectory } from "../../helpers/simulator.ts";

/** As many as are sent again at once, and more than are judged at once. */
const AT_ONCE = 1_000;

test("what is done in several pieces is done to all: to the first of a piece as to the last", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  // Nobody answers: what is made here are deliveries, and no attempts but a few.
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
  // As a simulator leaves them that ended in a hurry, before it had judged them.
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
    verdict: "unknown",
    count,
  });
  const counts = second.verdicts.counts();
  expect(counts).toHaveLength(2);
  expect(counts).toEqual(expect.arrayContaining([judged(calls.id, AT_ONCE), judged(orders.id, 1)]));
  const howMany = ({ ids, hasMore }: { ids: string[]; hasMore: boolean }) => [ids.length, hasMore];
  expect(howMany(await second.deliveries.recover())).toEqual([AT_ONCE, true]);
  expect(howMany(await second.deliveries.recover())).toEqual([1, false]);
  const third = openSimulator({ dataFile: copy, clock: "manual", send });
  expect(howMany(await third.deliveries.recover({ endpointId: calls.id }))).toEqual([AT_ONCE, false]);
});
