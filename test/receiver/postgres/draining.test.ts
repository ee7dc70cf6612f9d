import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { accept, newEvent } from "../engine-suite/harness.ts";
import { signalled } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";
import { proxyTo } from "./proxy.ts";

test("what a claim brings while its worker drains is begun by nobody, and returned without an attempt", async () => {
  const { engine, event, answer } = await setUp();
  const { handled, processor } = await driven(engine, async () => ({ kind: "done" }));
  await answer.held;
  const drained = processor.drain(10_000);
  answer.letGo();
  await drained;
  expect(handled).toEqual([]);
  expect(await engine.ledger.find(event.id)).toMatchObject(UNTOUCHED);
});

test("what a claim brings after the grace of a drain is returned as well", async () => {
  const returning = signalled();
  const { engine, event, answer } = await setUp((ms) => {
    if (ms === RETURN_TIMEOUT_MS) returning.give();
  });
  const { handled, processor } = await driven(engine, async () => ({ kind: "done" }));
  await answer.held;
  const drained = processor.drain(0);
  await returning.promise;
  answer.letGo();
  await drained;
  expect(handled).toEqual([]);
  expect(await engine.ledger.find(event.id)).toMatchObject(UNTOUCHED);
});

/** What a drain gives the database to take claims back: by this it is seen to have come so far. */
const RETURN_TIMEOUT_MS = 1_000;

const UNTOUCHED = { state: "pending", attempts: 0, lastError: null };

/** An event, and an engine whose claim of it is answered late. */
async function setUp(onSleep: (ms: number) => void = () => undefined) {
  const { url } = await postgresBackend();
  const proxy = await proxyTo(url);
  const engine = await opened(proxy.url, {
    clock: {
      ...systemClock,
      sleep: async (ms, signal) => {
        onSleep(ms);
        return systemClock.sleep(ms, signal);
      },
    },
  });
  const event = newEvent();
  await accept(engine, [event]);
  return { engine, event, answer: proxy.holdAnswer(event.id) };
}
