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
  const response = await fetch(`${url}/control/stream`, {
    signal: stopping.signal,
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
  });
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
      const fields = Object.fromEntries(
        block
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
      );
      if (fields["data"] === undefined) continue;
      const { id = "", event = "", data } = fields;
      messages.push({ id, event, data: JSON.parse(data) as Message["data"] });
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
    const kinds = stream.messages.map(({ event }) => event);
    expect([...new Set(kinds)]).toEqual([
      "clock",
      "endpoint",
      "event",
      "delivery",
      "endpoint_deleted",
      "reset",
    ]);
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
    const second = await watch(url);
    await second.until(({ event }) => event === "clock");
    const id = emitOne(simulator);
    await second.until((message) => isDelivered(message) && message.data["id"] === id);
    await second.until(() => second.messages.filter(({ event }) => event === "clock").length > 1);
  });

  test("sends the clock to the remaining watchers after another has left", async () => {
    const endpoint = await startEndpoint();
    const { url, simulator } = await startService();
    const watchers = countWatchers(simulator);
    register(simulator, endpoint.url);
    const [stays, leaves] = await Promise.all([watch(url), watch(url)]);
    for (const stream of [stays, leaves]) await stream.until(({ event }) => event === "clock");
    emitOne(simulator);
    await leaves.until(isDelivered);
    leaves.stop();
    await expect.poll(watchers, { interval: 1 }).toBe(1);
    await stays.until(() => stays.messages.filter(({ event }) => event === "clock").length > 1);
  });

  test.each(["0", "12", "9007199254740991", "-1"])(
    "tells a watcher that cannot continue from %s to reload everything",
    async (lastId) => {
      const { url } = await startService();
      const stream = await watch(url, lastId);
      expect((await stream.until(() => true)).event).toBe("resync");
    },
  );

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
    const stream = await watch(url);
    await stream.until(({ event }) => event === "clock");
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

  test("ignores an invalid Last-Event-ID", async () => {
    const { url } = await startService();
    const stream = await watch(url, "abc");
    expect((await stream.until(() => true)).event).toBe("clock");
  });

  test("reports a resend and a run of verify as they go, and each check once", async () => {
    const endpoint = await startEndpoint();
    const { url, simulator, ask } = await startService();
    const { id } = register(simulator, endpoint.url);
    emit(simulator, "call.completed", 3);
    await simulator.settled();
    const stream = await watch(url);
    await stream.until(({ event }) => event === "clock");
    const { id: jobId } = await resendAll(simulator, { state: "delivered" });
    const job = await stream.until(({ event, data }) => event === "job" && data["state"] === "done");
    expect(job.data).toMatchObject({ id: jobId, total: 3, sent: 3 });
    const only = ["acknowledgement.call-completed", "acknowledgement.order-created"];
    const begun = (await ask("POST", `/endpoints/${id}/verify`, { only })).body;
    await stream.until(({ event, data }) => event === "verification" && data["state"] === "ended");
    const runs = stream.messages.flatMap(({ event, data }) => (event === "verification" ? [data] : []));
    expect(new Set(runs.map((run) => run["id"]))).toEqual(new Set([begun["id"]]));
    const reported = runs.flatMap((run) => (run["checks"] as { id: string }[]).map((check) => check.id));
    const { verification } = (await ask("GET", "/verification")).body as {
      verification: { checks: object[] };
    };
    expect(reported).toHaveLength(verification.checks.length);
    expect(new Set(reported).size).toBe(reported.length);
    expect(reported).toEqual(expect.arrayContaining(only));
  });

  test("does not keep the simulator from ending", async () => {
    const { server, url } = await startService();
    const stream = await watch(url);
    await stream.until(({ event }) => event === "clock");
    await server.close();
    await expect(stream.until(() => false)).rejects.toThrow(/terminated|ended/);
  });

  test("forgets a watcher that has disconnected", async () => {
    const { url, simulator } = await startService();
    const streams = await Promise.all([watch(url), watch(url), watch(url)]);
    for (const stream of streams) await stream.until(({ event }) => event === "clock");
    for (const stream of streams) stream.stop();
    // Writing after they disconnected must neither fail nor keep them in memory.
    for (let count = 0; count < 50; count++) {
      register(simulator, "http://localhost:1");
      await new Promise((resolve) => setImmediate(resolve));
    }
    const last = await watch(url, String(simulator.journal.lastId() - 1));
    expect((await last.until(() => true)).event).toBe("endpoint");
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

  const streams = await Promise.all([watch(url), watch(url), watch(url)]);
  for (const stream of streams) await stream.until(({ event }) => event === "clock");
  expect({ watchers: watchers(), begun, open: heartbeats.size }).toEqual({ watchers: 3, begun: 3, open: 3 });
  for (const stream of streams) stream.stop();
  await expect
    .poll(() => ({ watchers: watchers(), open: heartbeats.size }))
    .toEqual({ watchers: 0, open: 0 });
});
