import { expect, test } from "vitest";
import { createLease } from "../../../receiver/engines/postgres/lease.ts";
import { hurriedClock } from "../helpers/clock.ts";

/** A lease over statements that only note what was asked. */
function setUp() {
  const clock = hurriedClock();
  const asked: string[] = [];
  const state = { kept: true, ended: false };
  const lease = createLease({
    claims: {
      register: async () => void asked.push("register"),
      extend: async () => {
        asked.push("extend");
        return state.kept;
      },
      resign: async () => void asked.push("resign"),
    },
    worker: "worker",
    clock,
    startTrigger: async () => {
      asked.push("start");
      state.ended = false;
      return { pool: "pool", ended: () => state.ended, stop: async () => void asked.push("stop") };
    },
  });
  const keep = async (): Promise<{ kept: boolean; asked: string[] }> => {
    const kept = await lease.keep([]);
    return { kept, asked: asked.splice(0) };
  };
  return { lease, keep, clock, state, asked };
}

test("a lease is extended three times before it would be over, and at once when that is wanted", async () => {
  const { lease, keep, clock } = setUp();
  expect(await keep()).toEqual({ kept: true, asked: ["start", "register"] });
  clock.move(9_999);
  expect(await keep()).toEqual({ kept: true, asked: [] });
  clock.move(1);
  expect(await keep()).toEqual({ kept: true, asked: ["extend"] });
  expect(await keep()).toEqual({ kept: true, asked: [] });
  lease.touch();
  expect(await keep()).toEqual({ kept: true, asked: ["extend"] });
});

test("a worker that was taken for dead is told so, and registers anew", async () => {
  const { keep, clock, state } = setUp();
  await keep();
  state.kept = false;
  clock.move(10_000);
  expect(await keep()).toEqual({ kept: false, asked: ["extend", "register"] });
});

test("a trigger that gave up is started again, and its jobs are locked by the new one from then on", async () => {
  const { keep, state } = setUp();
  await keep();
  state.ended = true;
  expect(await keep()).toEqual({ kept: true, asked: ["start", "extend"] });
});

test("who resigns stops the trigger first", async () => {
  const { lease, keep, asked } = setUp();
  await keep();
  await lease.resign();
  expect(asked).toEqual(["stop", "resign"]);
});
