import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { startService } from "../../helpers/service.ts";
import { emit, openSimulator, register } from "../../helpers/simulator.ts";

/** A receiver that holds back its answer: `begun` resolves with the first attempt. */
function holdAnswer() {
  const begun = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<{ outcome: { status: number }; durationMs: number }>();
  let sent = 0;
  const send: SimulatorOptions["send"] = () => {
    sent += 1;
    begun.resolve();
    return answered.promise;
  };
  const answer = (status: number) => answered.resolve({ outcome: { status }, durationMs: 1 });
  return { begun: begun.promise, answer, send, sent: () => sent };
}

test("an open attempt counts as failed in no list and no count", async () => {
  const { begun, answer, send } = holdAnswer();
  const { ask, simulator } = await startService({ clock: "manual", calls: 0, send });
  register(simulator, "http://localhost:1/");
  emit(simulator);
  await begun;
  const seen = async () => {
    const [list, history] = await Promise.all([
      ask("GET", "/deliveries?state=failed"),
      ask("GET", "/history"),
    ]);
    const slots = (history.body["slots"] ?? []) as { sent: number; failed: number }[];
    const sum = (name: "sent" | "failed") => slots.reduce((total, slot) => total + slot[name], 0);
    return { listed: list.body.data?.length, sent: sum("sent"), failed: sum("failed") };
  };
  expect(await seen()).toEqual({ listed: 0, sent: 1, failed: 0 });
  answer(503);
  await simulator.settled();
  expect(await seen()).toEqual({ listed: 1, sent: 1, failed: 1 });
});

test.each(["manual", "skip"] as const)(
  "a reset waits for open attempts, and for no retry: %s",
  async (clock) => {
    const { begun, answer, send } = holdAnswer();
    const { ask, simulator } = await startService({ clock, calls: 0, send });
    register(simulator, "http://localhost:1/");
    emit(simulator);
    await begun;
    const reset = ask("POST", "/reset", {});
    answer(503);
    expect((await reset).status).toBe(200);
    expect(simulator.counts.deliveries().total).toBe(0);
  },
);

test("a reset starts no attempts that become due while it waits", async () => {
  const { begun, answer, send, sent } = holdAnswer();
  const simulator = openSimulator({ concurrency: 1, send });
  register(simulator, "http://localhost:1/");
  emit(simulator, "call.completed", 3);
  await begun;
  const reset = simulator.reset({ endpoints: false });
  await loopTurns(20);
  expect(simulator.counts.deliveries().total).toBe(3);
  answer(200);
  await reset;
  expect(sent()).toBe(1);
});

test("a reset forgets everything, or keeps the endpoints", async () => {
  const { ask } = await startService();
  await ask("POST", "/endpoints", { url: "http://localhost:3000/" });
  await ask("POST", "/events", { type: "call.completed" });
  expect(await ask("POST", "/reset", { keep_endpoints: true })).toMatchObject({
    status: 200,
    body: { reset: true },
  });
  expect((await ask("GET", "/endpoints")).body.data).toHaveLength(1);
  expect((await ask("GET", "/events")).body.data).toEqual([]);
  await ask("POST", "/reset", {});
  expect((await ask("GET", "/endpoints")).body.data).toEqual([]);
  expect(await ask("POST", "/reset", { everything: true })).toMatchObject({ status: 400 });
});
