import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { until } from "../../receiver/helpers/until.ts";
import type * as Live from "../../../simulator/dashboard/app/core/live.ts";
import type { Clock, Job } from "../../../simulator/dashboard/app/core/types.ts";
import { at, deliveryAt } from "./deliveries.ts";

/** The dashboard's state while stream and answers arrive in parallel; the test controls both. */

const heard = new Map<string, (message: { data: string }) => void>();
const asked: { paths: string[]; fail: () => void; answer: (clock: Clock, version: string) => void }[] = [];
let core: typeof Live;
let firstGeneration: number;
const first: unknown[] = [];

/** Answers the paths of one combined request. */
async function fetchOfTheTest(url: string): Promise<Response> {
  const paths = new URL(url, "http://simulator").searchParams.getAll("path");
  return new Promise((resolve) => {
    const answer = (clock: Clock, version: string): void => {
      const bodies: Record<string, unknown> = { "/clock": clock, "/about": { version } };
      const data = paths.map((path) => ({
        status: 200,
        body: bodies[path] ?? { data: [], has_more: false },
      }));
      resolve(Response.json({ data }));
    };
    const fail = () => resolve(Response.json({ message: "It cannot." }, { status: 500 }));
    asked.push({ paths, fail, answer });
  });
}

const clockAt = (minute: number) => ({ mode: "manual", now: at(minute) }) as Clock;
const send = (name: string, data: unknown = {}) => heard.get(name)?.({ data: JSON.stringify(data) });

beforeAll(async () => {
  class Source {
    static readonly CLOSED = 2;
    addEventListener = (name: string, listen: (message: { data: string }) => void) => heard.set(name, listen);
  }
  class Channel {
    readonly name = "";
    postMessage = (): void => undefined;
    addEventListener = (): void => undefined;
  }
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("BroadcastChannel", Channel);
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("document", { visibilityState: "hidden" });
  vi.stubGlobal("location", { origin: "http://simulator", pathname: "/dashboard", search: "" });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("fetch", fetchOfTheTest);
  vi.resetModules();
  core = await import("../../../simulator/dashboard/app/core/live.ts");
  core.startLive();
  const { control } = await import("../../../simulator/dashboard/app/core/api.ts");
  void control.get("/traffic").catch(() => undefined);
  void control.get("/counts").catch(() => undefined);
  await loopTurns(5);
  first.push(core.live.connection, asked.length);
  send("error");
  await loopTurns(5);
  first.push(core.live.connection, asked.length);
  send("open");
  first.push(core.live.connection);
  firstGeneration = core.live.generation;
});
afterAll(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});
beforeEach(async () => {
  asked.length = 0;
  send("open");
  send("reset");
  await until(() => asked.length > 0);
});

test("what the stream brings is read first, and lists only when it is known whether there is one", () => {
  expect(first).toEqual(["connecting", 1, "lost", 2, "open"]);
});

test("what the stream tells is kept, also over an answer that was under way", async () => {
  const { live } = core;
  const job = (id: string) => ({ id, ended_at: null }) as Job;
  const before = live.clockChanges;
  for (const id of ["ep_1", "ep_2"]) send("endpoint", { id });
  send("endpoint_deleted", { id: "ep_1" });
  send("event", { id: "evt_9", type: "order.created", created_at: at(9) });
  for (const id of ["job_a", "job_b"]) send("job", job(id));
  for (const { answer } of asked) answer(clockAt(1), "new");
  await expect.poll(() => live.about?.version).toBe("new");
  expect([...(live.endpoints?.keys() ?? [])]).toEqual(["ep_2"]);
  expect(live.jobs.slice(0, 2)).toEqual([job("job_b"), job("job_a")]);
  expect(live.feed.rows().map(({ key }) => key)).toEqual(["evt_9"]);
  expect(live.clockChanges).toBe(before);
  for (const minute of [2, 3]) send("clock", clockAt(minute));
  expect(live.clockChanges).toBe(before + 2);
});

test("a clock from the stream wins over an older one still loading", async () => {
  send("clock", clockAt(9));
  for (const { answer } of asked) answer(clockAt(3), "one");
  await expect.poll(() => core.live.about?.version).toBe("one");
  expect(core.live.clock?.now).toBe(at(9));
});

test("of two loads at once the later one counts, whichever answer comes first", async () => {
  const [before] = asked.splice(0);
  send("reset");
  await expect.poll(() => asked.length).toBe(1);
  asked[0]?.answer(clockAt(5), "later");
  await expect.poll(() => core.live.about?.version).toBe("later");
  before?.answer(clockAt(4), "earlier");
  await loopTurns(20);
  expect(core.live.about?.version).toBe("later");
});

test("a load that fails says why, until one succeeds, and says nothing after a later one", async () => {
  asked[0]?.fail();
  await expect.poll(() => core.live.problem).toBe("It cannot.");
  asked.length = 0;
  send("delivery", deliveryAt(1, "before"));
  for (const count of [1, 2]) {
    send("reset");
    await expect.poll(() => asked.length).toBe(count);
  }
  asked[1]?.answer(clockAt(6), "later still");
  await expect.poll(() => [core.live.about?.version, core.live.problem]).toEqual(["later still", undefined]);
  asked[0]?.fail();
  await loopTurns(20);
  expect([core.live.problem, core.live.feed.get("before")]).toEqual([undefined, undefined]);
});

test("the checks of a run are added to those before, and not to those of another run", () => {
  for (const [id, check] of [
    [1, "a"],
    [1, "b"],
    [1, "b"],
    [2, "c"],
  ] as const) {
    send("verification", { id, checks: [{ id: check }] });
    const known = core.live.verification?.checks.map((one) => one.id).join("");
    expect(known).toBe({ a: "a", b: "ab", c: "c" }[check]);
  }
});

test("pages that load more data reload it after a reset, after missed events, and after a lost connection", () => {
  expect(firstGeneration).toBe(0);
  const before = core.live.generation;
  for (const name of ["reset", "resync", "error", "open"]) send(name);
  expect(core.live.generation).toBe(before + 3);
});

test("a job that has ended stays ended when a late answer arrives", () => {
  const job = (ended_at: string | null) => ({ object: "job", id: "job_1", ended_at }) as Job;
  core.live.jobs = [];
  for (const ended of [null, at(1), at(2), null]) core.keepJob(job(ended));
  expect(core.live.jobs).toEqual([job(at(2))]);
});
