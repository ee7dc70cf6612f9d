import { createHook } from "node:async_hooks";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { emit, emitOne, nextEntry, register, resendAll } from "../../helpers/simulator.ts";
import { startService } from "../../helpers/service.ts";

type Message = { id: string; event: string; data: Record<string, unknown> };

/** Reads server-sent events. */
async function watch(url: string, lastEventId?: string) {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const headers = new Headers(lastEventId === undefined ? {} : { "last-event-id": lastEventId });
  const response = await fetch(`${url}/control/stream`, { signal: stopping.signal, headers });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const messages: Message[] = [];
  let text = "";

  async function read(): Promise<void> {
    const { value = "", done = true } = (await reader?.read()) ?? {};
    if (done) throw new Error("The stream has ended.");
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)`, "m").exec(block)?.[1];
      const [id = "", event = "", data] = [field("id"), field("event"), field("data")];
      if (data !== undefined) messages.push({ id, event, data: JSON.parse(data) as Message["data"] });
    }
  }

  return {
    response,
    messages,
    stop: () => stopping.abort(),
    /** Reads until a message `matches`, and returns it. */
    async until(matches: (message: Message) => boolean): Promise<Message> {
      for (;;) {
        const found = messages.find(matches);
        if (found) return found;
        await read();
      }
    },
  };
}

/** Reads the stream of a new watcher, which begins with the clock. */
async function watchFromNow(url: string) {
  const stream = await watch(url);
  await stream.until(({ event }) => event === "clock");
  return stream;
}

/** How many streams watch the journal now. */
function countWatchers({ journal }: Simulator): () => number {
  let watchers = 0;
  const { watch: watchJournal } = journal;
  vi.spyOn(journal, "watch").mockImplementation((watcher) => {
    const stop = watchJournal(watcher);
    watchers += 1;
    return () => {
      watchers -= 1;
      stop();
    };
  });
  return () => watchers;
}

const isDelivered = ({ event, data }: Message) => event === "delivery" && data["state"] === "delivered";

describe("the stream", () => {
  test("reports every change in order, each with its id", async () => {
    const endpoint = await startEndpoint();
    const { url, simulator, ask } = await startService();
    const stream = await watch(url);
    expect(stream.response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    await stream.until(({ event }) => event === "clock");
    const { id } = register(simulator, endpoint.url);
    emitOne(simulator);
    await stream.until(isDelivered);
    await ask("DELETE", `/endpoints/${id}`);
    await ask("POST", "/reset", {});
    await stream.until(({ event }) => event === "reset");
    const kinds = new Set(stream.messages.map(({ event }) => event));
    expect([...kinds].join(" ")).toBe("clock endpoint event delivery endpoint_deleted reset");
    const ids = stream.messages.map((message) => Number(message.id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    // The clock is sent again a while after a delivery, under the last id.
    const own = stream.messages.filter(({ event }) => event !== "clock").map((message) => message.id);
    expect(new Set(own).size).toBe(own.length);
    const shown = stream.messages.find(({ event }) => event === "endpoint");
    expect(shown?.data).toMatchObject({ object: "endpoint", id });
  });

  test("continues where a watcher stopped, without gaps or repetitions", async () => {
    const endpoint = await startEndpoint();
    const { url, simulator } = await startService();
    register(simulator, endpoint.url);
    const first = await watch(url);
    emitOne(simulator);
    const { id: lastId } = await first.until(isDelivered);
    first.stop();
    const missed = nextEntry(simulator, ({ kind }) => kind === "attempt.ended");
    emitOne(simulator);
    await missed;

    const second = await watch(url, lastId);
    const next = await second.until(isDelivered);
    emitOne(simulator);
    await second.until((message) => isDelivered(message) && message.data["id"] !== next.data["id"]);
    const ids = second.messages.filter(({ event }) => event !== "clock").map(({ id }) => Number(id));
    expect(ids).toEqual(ids.map((_, index) => Number(lastId) + 1 + index));
  });

  test("sends the clock after a delivery, also after a watcher that left at once", async () => {
    const endpoint = await startEndpoint();
    const { url, simulator } = await startService();
    const watchers = countWatchers(simulator);
    register(simulator, endpoint.url);
    const first = await watch(url);
    emitOne(simulator);
    await first.until(isDelivered);
    first.stop();
    await expect.poll(watchers).toBe(0);
    const second = await watchFromNow(url);
    const id = emitOne(simulator);
    await second.until((message) => isDelivered(message) && message.data["id"] === id);
    await second.until(() => second.messages.filter(({ event }) => event === "clock").length > 1);
  });

  test("sends the clock to the remaining watchers after another has left", async () => {
    const endpoint = await startEndpoint();
    const { url, simulator } = await startService();
    const watchers = countWatchers(simulator);
    register(simulator, endpoint.url);
    const [stays, leaves] = await Promise.all([watchFromNow(url), watchFromNow(url)]);
    emitOne(simulator);
    await leaves.until(isDelivered);
    leaves.stop();
    await expect.poll(watchers, { interval: 1 }).toBe(1);
    await stays.until(() => stays.messages.filter(({ event }) => event === "clock").length > 1);
  });

  test.each([
    ["0", "resync"],
    ["12", "resync"],
    ["9007199254740991", "resync"],
    ["-1", "resync"],
    ["abc", "clock"],
  ])("begins after a Last-Event-ID that it cannot continue from, %s, with %s", async (lastId, event) => {
    const stream = await watch((await startService()).url, lastId);
    expect((await stream.until(() => true)).event).toBe(event);
  });

  test("tells a watcher that missed too many events to reload everything", async () => {
    const { url, simulator } = await startService();
    const before = simulator.journal.lastId();
    emit(simulator, "call.completed", 500);
    const resumed = await watch(url, String(before));
    expect((await resumed.until(() => true)).event).toBe("event");
    resumed.stop();
    emit(simulator);
    const late = await watch(url, String(before));
    const { event, id } = await late.until(() => true);
    expect({ event, id: Number(id) }).toEqual({ event: "resync", id: simulator.journal.lastId() });
  });

  test("drops only the watcher that reads too slowly, after telling it to reload everything", async () => {
    const { url, simulator } = await startService();
    const watchers = countWatchers(simulator);
    const stream = await watchFromNow(url);
    emit(simulator, "call.completed", 1_000);
    const last = String(simulator.journal.lastId());
    await stream.until(({ id }) => id === last);
    // All in one turn, in which the client cannot read.
    emit(simulator, "call.completed", 6_000);
    // Nothing more is sent to it, but its connection stays open until it has read the rest.
    expect(watchers()).toBe(0);
    const hint = await stream.until(({ event }) => event === "reset");
    expect(stream.messages.length).toBeLessThan(7_000);
    await expect(stream.until(() => false)).rejects.toThrow("The stream has ended.");
    // It reconnects as any watcher does.
    const again = await watch(url, hint.id);
    expect((await again.until(() => true)).event).toBe("resync");
  });

  test("reports a resend and a run of verify as they go, and each check once", async () => {
    const endpoint = await startEndpoint();
    const { url, simulator, ask } = await startService();
    const { id } = register(simulator, endpoint.url);
    emit(simulator, "call.completed", 3);
    await simulator.settled();
    const stream = await watchFromNow(url);
    const { id: jobId } = await resendAll(simulator, { state: "delivered" });
    const job = await stream.until(({ event, data }) => event === "job" && data["state"] === "done");
    expect(job.data).toMatchObject({ id: jobId, total: 3, sent: 3 });
    const only = ["acknowledgement.call-completed", "acknowledgement.order-created"];
    const begun = (await ask("POST", `/endpoints/${id}/verify`, { only })).body;
    await stream.until(({ event, data }) => event === "verification" && data["state"] === "ended");
    const runs = stream.messages.flatMap(({ event, data }) => (event === "verification" ? [data] : []));
    expect(new Set(runs.map((run) => run["id"]))).toEqual(new Set([begun["id"]]));
    const reported = runs.flatMap((run) => (run["checks"] as { id: string }[]).map((check) => check.id));
    const done = (await ask("GET", "/verification")).body["verification"] as { checks: { id: string }[] };
    expect(reported.toSorted()).toEqual(done.checks.map((check) => check.id).toSorted());
    expect(reported).toEqual(expect.arrayContaining(only));
  });

  test("does not keep the simulator from ending", async () => {
    const { server, url } = await startService();
    const stream = await watchFromNow(url);
    await server.close();
    await expect(stream.until(() => false)).rejects.toThrow(/terminated|ended/);
  });
});

test("64 streams are open at a time, and one that closes lets another open", async () => {
  const { url } = await startService();
  const streams = await Promise.all(Array.from({ length: 64 }, () => watch(url)));
  expect(streams.every(({ response }) => response.ok)).toBe(true);
  const { response } = await watch(url);
  expect([response.ok, response.headers.get("retry-after")]).toEqual([false, "1"]);
  streams[0]?.stop();
  await expect.poll(async () => (await watch(url)).response.ok, { timeout: 5_000 }).toBe(true);
});

test("a closed stream releases its journal watcher and its timer", async () => {
  const { url, simulator } = await startService();
  const watchers = countWatchers(simulator);
  const heartbeats = new Set<number>();
  let begun = 0;
  const hook = createHook({
    init(id, type, _trigger, resource: { _idleTimeout?: number }) {
      if (type !== "Timeout" || resource._idleTimeout !== 15_000) return;
      heartbeats.add(id);
      begun += 1;
    },
    destroy: (id) => void heartbeats.delete(id),
  }).enable();
  onTestFinished(() => void hook.disable());

  const streams = await Promise.all([watchFromNow(url), watchFromNow(url), watchFromNow(url)]);
  expect({ watchers: watchers(), begun, open: heartbeats.size }).toEqual({ watchers: 3, begun: 3, open: 3 });
  for (const stream of streams) stream.stop();
  await expect
    .poll(() => ({ watchers: watchers(), open: heartbeats.size }))
    .toEqual({ watchers: 0, open: 0 });
});
