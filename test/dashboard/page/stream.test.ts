import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { openStream } from "../../../simulator/dashboard/app/core/stream.ts";

/** Tabs of one browser: they have one channel and one lock, and each has a stream of its own if it opens one. */

type Listen = (event: { data?: unknown; persisted?: boolean }) => void;
class Target {
  readonly listeners = new Map<string, Listen>();
  addEventListener = (name: string, listen: Listen) => void this.listeners.set(name, listen);
  tell = (name: string, event: object = {}) => this.listeners.get(name)?.(event);
}
const channels = new Set<Target>();
class Channel extends Target {
  readonly name = "stream";
  joined = channels.add(this);
  postMessage(data: unknown): void {
    for (const channel of channels) if (channel !== this) channel.tell("message", { data });
  }
  close = () => void channels.delete(this);
}
const sources: Source[] = [];
class Source extends Target {
  static readonly CLOSED = 2;
  readyState = 0;
  opened = sources.push(this);
  close = () => void (this.readyState = Source.CLOSED);
}
/** One holder at a time, in the order in which they asked. */
const locks = {
  held: Promise.resolve(),
  async request(
    _name: string,
    { signal }: { signal: AbortSignal },
    lead: () => Promise<void>,
  ): Promise<void> {
    const turn = this.held.then(() => (signal.aborted ? undefined : lead()));
    this.held = turn.catch(() => undefined);
    await turn;
  },
};
const open = () => sources.filter(({ readyState }) => readyState !== Source.CLOSED);

async function openTab() {
  const received: string[] = [];
  const page = new Target();
  vi.stubGlobal("addEventListener", page.addEventListener);
  openStream({
    onMessage: ({ name }) => received.push(name),
    onOpen: (isBack) => received.push(isBack ? "open again" : "open"),
    onLost: () => received.push("lost"),
  });
  await loopTurns(2);
  const tell = async (name: string, event: object = {}) => (page.tell(name, event), loopTurns(2));
  return { received, tell };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("BroadcastChannel", Channel);
  vi.stubGlobal("navigator", { locks });
  [locks.held, sources.length] = [Promise.resolve(), 0];
  channels.clear();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("tabs share one stream; one that is left hands it on, and joins again only if it is restored", async () => {
  const first = await openTab();
  const second = await openTab();
  expect([sources.length, first.received, second.received]).toEqual([1, [], []]);
  sources[0]?.tell("open");
  const third = await openTab();
  sources[0]?.tell("clock", { data: "{}" });
  for (const { received } of [first, second, third]) expect(received.splice(0)).toEqual(["open", "clock"]);

  await first.tell("pagehide");
  expect([sources.length, open()]).toEqual([2, [sources[1]]]);
  sources[1]?.tell("clock", { data: "{}" });
  sources[1]?.tell("open");
  for (const { received } of [second, third]) expect(received.splice(0)).toEqual(["lost", "open again"]);
  await first.tell("pageshow", { persisted: false });
  expect([channels.size, first.received]).toEqual([2, []]);
  await first.tell("pageshow", { persisted: true });
  expect([first.received.splice(0), sources.length]).toEqual([["open again"], 2]);
  for (const { tell } of [third, second]) await tell("pagehide");
  sources[2]?.tell("open");
  expect([first.received, open(), channels.size]).toEqual([["lost", "open again"], [sources[2]], 1]);
});

test("a stream that breaks is opened again, by the browser or after a second, unless its tab was left", async () => {
  vi.stubGlobal("navigator", {});
  const { received, tell } = await openTab();
  sources[0]?.tell("open");
  for (const isGivenUp of [false, true]) {
    if (isGivenUp) sources[0]?.close();
    sources[0]?.tell("error");
    vi.advanceTimersByTime(999);
    expect(sources).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(sources).toHaveLength(isGivenUp ? 2 : 1);
    sources.at(-1)?.tell("open");
  }
  expect(received).toEqual(["open", "lost", "open again", "lost", "open again"]);
  sources[1]?.close();
  sources[1]?.tell("error");
  await tell("pagehide");
  vi.advanceTimersByTime(5_000);
  expect(sources).toHaveLength(2);
});
