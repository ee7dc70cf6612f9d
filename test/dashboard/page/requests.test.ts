import { type ComponentChild, h } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { createNewest, createPatience } from "../../../simulator/dashboard/app/core/late-answers.ts";
import { at } from "./deliveries.ts";
import { show } from "./dom.ts";
import { clockOf, openForms } from "./forms.ts";

/** What is asked of the simulator, when, and what counts of the answers. */

const asked: { path: string; body: unknown; answer: (value: unknown, status?: number) => Promise<void> }[] =
  [];
const fetchOfTheTest = (url: string, { body = "null" }: { body?: string } = {}): Promise<Response> =>
  new Promise((resolve, reject) => {
    const answer = async (value: unknown, status = 200) => {
      if (value instanceof Error) reject(value);
      else resolve(value instanceof Response ? value : Response.json(value, { status }));
      await loopTurns(20);
    };
    asked.push({ path: url.replace("/control", ""), body: JSON.parse(body), answer });
  });

const { live, open, key: press } = await openForms();
vi.stubGlobal("fetch", fetchOfTheTest);
beforeEach(() => void (asked.length = 0));
const { ClockBar } = await import("../../../simulator/dashboard/app/components/clock-bar.tsx");
const { control, slowRequests } = await import("../../../simulator/dashboard/app/core/api.ts");
const { useApiPages, useLater, useLoaded } = await import("../../../simulator/dashboard/app/core/load.ts");
const { attempt, dismiss, toast, toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");

test("three presses of a step are three steps, each after the answer to the one before, failed or not", async () => {
  const { root, close, ...view } = await open(h(ClockBar, {}));
  await view.press("+1 min");
  for (const key of ["m", "h"]) await press(key);
  const isBusy = () => root.parts.some(({ attributes }) => attributes.has("aria-busy"));
  expect(isBusy()).toBe(true);
  expect(asked.map(({ body }) => body)).toEqual([{ seconds: 60 }]);
  await asked[0]?.answer({ message: "no" }, 500);
  await asked[1]?.answer(clockOf({ now: at(1) }));
  expect(asked.map(({ body }) => body)).toEqual([{ seconds: 60 }, { seconds: 60 }, { seconds: 3_600 }]);
  await asked[2]?.answer(clockOf({ now: at(61), next_attempt_at: null }));
  expect(live.clock?.now).toBe(at(61));
  await press("unknown");
  expect(isBusy()).toBe(false);
  await close();
  await press("m");
  expect(asked).toHaveLength(3);
});

test("equal requests are sent once, combined with others, and a slow one is counted until it ends", async () => {
  const paths = ["/counts", "/clock", "/counts", "/events?x=1"] as const;
  const all = Promise.allSettled(paths.map((path) => control.get(path)));
  await loopTurns(5);
  const later = attempt(() => control.get("/counts"));
  await loopTurns(5);
  expect(asked.map(({ path }) => path)).toEqual([
    "/many?path=%2Fcounts&path=%2Fclock&path=%2Fevents%3Fx%3D1",
    "/counts",
  ]);
  vi.advanceTimersByTime(2_000);
  expect(slowRequests.get().count).toBe(2);
  await asked[0]?.answer({
    data: [
      { status: 200, body: "counts" },
      { status: 200, body: "clock" },
      { status: 400, body: { message: "no x" } },
    ],
  });
  const [counts, clock, same, failed] = await all;
  expect([counts, clock, same]).toMatchObject(["counts", "clock", "counts"].map((value) => ({ value })));
  expect(failed).toMatchObject({ reason: { status: 400, message: "no x" } });
  await asked[1]?.answer({ message: "no" }, 404);
  expect([await later, slowRequests.get().count]).toEqual([undefined, 0]);
  void control.get("/counts").catch(() => undefined);
  await loopTurns(5);
  await asked[2]?.answer({});
  vi.advanceTimersByTime(2_000);
  expect(slowRequests.get().count).toBe(0);
  for (const text of ["b", "c", "d"]) toast("ok", text);
  const shown = () => toasts.get().map(({ text }) => text);
  expect(shown()).toEqual(["b", "c", "d"]);
  dismiss(toasts.get()[1]?.id ?? 0);
  vi.advanceTimersByTime(5_999);
  expect(shown()).toEqual(["b", "d"]);
  vi.advanceTimersByTime(1);
  expect(shown()).toEqual([]);
});

test("loaded data belongs to its key, stays visible during a reload, and is reloaded once after many changes", async () => {
  const calls: { key: string; answer: (value: string) => Promise<void>; fail: () => Promise<void> }[] = [];
  const Loads = ({ name, again }: { name: string; again?: number }): ComponentChild => {
    const read = () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const settled = async (settle: () => void) => (settle(), loopTurns(20));
      calls.push({
        key: name,
        answer: (value) => settled(() => resolve(value)),
        fail: () => settled(() => reject(new Error("gone"))),
      });
      return promise;
    };
    const { value, error } = useLoaded(name, read, { again, afterMs: 250 });
    return `${value ?? "nothing"}${error === undefined ? "" : `, ${error.message}`}`;
  };
  const { root, again, close } = await show(h(Loads, { name: "a" }));
  await again(h(Loads, { name: "b" }));
  await calls[1]?.answer("of b");
  await calls[0]?.answer("of a, late");
  await again(h(Loads, { name: "b" }));
  expect(root.words).toBe("of b");
  for (const change of [1, 2, 3]) await again(h(Loads, { name: "b", again: change }));
  vi.advanceTimersByTime(249);
  expect(calls).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(calls).toHaveLength(3);
  await calls[2]?.fail();
  await again(h(Loads, { name: "b", again: 4 }));
  expect(root.words).toBe("of b, gone");
  vi.advanceTimersByTime(4_000);
  await calls[3]?.answer("of b again");
  await again(h(Loads, { name: "b", again: 5 }));
  expect(root.words).toBe("of b again");
  await again(h(Loads, { name: "c", again: 5 }));
  expect(root.words).toBe("nothing");
  // After a break of the connection everything is loaded anew.
  live.generation += 1;
  await again(h(Loads, { name: "c", again: 5 }));
  expect(calls).toHaveLength(6);
  await close();
  vi.advanceTimersByTime(4_000);
  expect(calls).toHaveLength(6);
});

test("the pages of a list belong to the organization that they were loaded for", async () => {
  const List = ({ apiKey }: { apiKey: string }) =>
    useApiPages("/api/v1/calls", apiKey).items.map(({ id }) => id) as never;
  const { root, again } = await show(h(List, { apiKey: "k1" }));
  await act(() => asked[0]?.answer({ data: [{ id: "call_1" }], has_more: false }));
  expect(root.words).toBe("call_1");
  await again(h(List, { apiKey: "k2" }));
  expect([root.words, asked.length]).toEqual(["", 2]);
});

test("a request is sent once its key stops changing, and again while its answer says so and the page is visible", async () => {
  const answers: (number | undefined)[] = [1, undefined, 3];
  const calls: string[] = [];
  const Asks = ({ name }: { name: string }): ComponentChild =>
    useLater(
      name,
      100,
      async () => (calls.push(name), answers.shift()),
      (answer) => (answer === 3 ? undefined : 1_000),
    );
  const { root, again, close } = await show(h(Asks, { name: "a" }));
  vi.advanceTimersByTime(99);
  await again(h(Asks, { name: "b" }));
  const wait = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    await loopTurns(20);
    await again(h(Asks, { name: "b" }));
    return [calls.join(), root.words];
  };
  expect(await wait(99)).toEqual(["", ""]);
  expect(await wait(1)).toEqual(["b", "1"]);
  expect(await wait(1_000)).toEqual(["b,b", "1"]);
  expect(await wait(1_000)).toEqual(["b,b,b", "3"]);
  expect(await wait(9_000)).toEqual(["b,b,b", "3"]);
  answers.push(1);
  await again(h(Asks, { name: "c" }));
  await close();
  vi.advanceTimersByTime(9_000);
  expect(calls).toHaveLength(3);
});

test("an error is in the words of the answer or in ours, and an id cannot climb to another route", async () => {
  const broken = new Response("<html>", { status: 502, statusText: "Bad Gateway" });
  for (const [answer, status, message] of [
    [Response.json({ message: "It ended." }, { status: 409 }), 409, "It ended."],
    [broken, 502, "The simulator answered 502 Bad Gateway."],
    [new Response("", { status: 500 }), 500, "The simulator answered 500."],
    [
      new Error("no connection"),
      0,
      "The simulator does not answer. Is it still running? This page reloads when it does.",
    ],
  ] as const) {
    const failed = control.post("/jobs/a/cancel").catch((error: unknown) => error);
    await asked.pop()?.answer(answer);
    expect(await failed).toMatchObject({ status, message });
  }
  const deleted = control.delete("/endpoints/ep_1");
  await asked.pop()?.answer(new Response(null, { status: 204 }));
  expect(await deleted).toBeUndefined();
  const climbing = "/control/jobs/../reset/cancel does not exist.";
  await expect(control.post("/jobs/../reset/cancel")).rejects.toThrow(climbing);
  expect(asked).toEqual([]);
});

test("of several answers to one request the newest counts, even if an older one arrives later", async () => {
  const newest = createNewest();
  const taken: number[] = [];
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const both = [first, second].map(({ promise }) => newest.of(promise, (value) => taken.push(value)));
  second.resolve(2);
  await both[1];
  first.resolve(1);
  await both[0];
  expect(taken).toEqual([2]);
});

test("a slow answer delays the next request, up to four seconds", async () => {
  const patience = createPatience(250);
  const waits: number[] = [];
  for (const tookMs of [10, 500, 60_000]) {
    const timed = patience.time(new Promise((resolve) => void setTimeout(resolve, tookMs)));
    await vi.advanceTimersByTimeAsync(tookMs);
    await timed;
    waits.push(patience.ms());
  }
  expect(waits).toEqual([250, 2_000, 4_000]);
});
