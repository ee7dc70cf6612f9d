import { createServer } from "node:http";
import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { observe } from "../../../simulator/commands/samples-tour.ts";
import type { Reading } from "../../../simulator/observer/observer.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { listen } from "../../helpers/listen.ts";
import { run } from "./in-process.ts";

/** What `dev` makes of a receiver that runs already: the samples, what it answered, and what it says that it did. */

type Told = { handled: number; state?: string; duplicates?: number };

/** `dev --once` on a receiver that answers `status`, and tells `told` of each event where it is asked. */
async function tour(status: number, told: Told | undefined, ...more: string[]) {
  const receiver = await startEndpoint(status);
  const tells = createServer((_request, response) => void response.end(JSON.stringify(told)));
  const observed = told === undefined ? [] : ["--observe", `${(await listen(tells)).url}/{id}`];
  const words = ["dev", "--port", "0", "--calls", "0", "--once", "--url", receiver.url, "--secret", "s"];
  return { receiver, ran: await run(...words, ...observed, ...more) };
}

test.each<[number, Told | undefined, number, string, string]>([
  [
    200,
    undefined,
    0,
    "acknowledged",
    "All 5 event types acknowledged; the duplicate changed nothing that we could see.",
  ],
  [
    204,
    { handled: 1, state: "done", duplicates: 1 },
    0,
    "done, handled once, 1 duplicate seen",
    "All 5 event types acknowledged and handled exactly once; the duplicate changed nothing.",
  ],
  [200, { handled: 2 }, 1, "handled, handled 2 times", "Not every sample was handled: see the lines above."],
  [
    200,
    { handled: 0, state: "dead", duplicates: 2 },
    1,
    "dead, handled 0 times, 2 duplicates seen",
    "Not every sample was handled",
  ],
  [200, { handled: 0, state: "ignored" }, 1, "ignored, handled 0 times", "Not every sample was handled"],
  [401, undefined, 1, "not acknowledged", "Your receiver rejects what the service signs: it must verify"],
  [403, { handled: 1 }, 1, "handled, handled once", "Your receiver rejects what the service signs"],
  [404, undefined, 1, "not acknowledged", "Your receiver has no such path: give its address with --url."],
])("a receiver that answers %i and tells %j: exit code %i", async (status, told, code, words, summary) => {
  const { ran, receiver } = await tour(status, told);
  expect(ran.code).toBe(code);
  const rows = ran.out.split("\n").filter((line) => / evt_[0-9a-f]{32} /.test(line));
  const types = [...EVENT_TYPES, EVENT_TYPES[0]];
  expect(rows.map((row) => row.trim().split(/ +/)[0])).toEqual(types);
  expect(rows.map((row) => row.replace(/^.* ms {2}/, ""))).toEqual(
    types.map((_, index) => (index < EVENT_TYPES.length ? words : `sent again: ${words}`)),
  );
  for (const row of rows) expect(row).toMatch(new RegExp(` ${status} +\\d+ ms `));
  expect(ran.out).toContain(summary);
  const ids = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
  expect([ids.length, ids[5] === ids[0], new Set(ids).size]).toEqual([6, true, 5]);
});

test.each<[number, Told | undefined, number]>([
  [204, undefined, 0],
  [200, { handled: 2 }, 1],
])("a program is told of one that answers %i and tells %j: exit code %i", async (status, told, code) => {
  const { ran } = await tour(status, told, "--json");
  expect(ran.code).toBe(code);
  const types = [...EVENT_TYPES, EVENT_TYPES[0]];
  expect(ran.json()).toEqual({
    object: "samples",
    all_handled: code === 0,
    interrupted: false,
    samples: types.map((type, index) => ({
      type,
      event_id: expect.stringMatching(/^evt_/) as string,
      duplicate: index === EVENT_TYPES.length,
      http_status: status,
      error: null,
      duration_ms: expect.any(Number) as number,
      handled: told?.handled ?? null,
    })),
  });
});

test.each<[string, Reading[], number, Awaited<ReturnType<typeof observe>>]>([
  ["it is handled", [{ known: true, count: 1 }], 1, { handled: 1, words: "handled, handled once" }],
  [
    "it is handled after a while",
    [
      { known: true, count: 0, state: "waiting" },
      { known: true, count: 1, state: "done" },
    ],
    2,
    { handled: 1, words: "done, handled once" },
  ],
  [
    "it will never be",
    [{ known: true, count: 0, state: "dead" }],
    1,
    { handled: 0, words: "dead, handled 0 times" },
  ],
  [
    "it can be read at last",
    [
      { known: false, reason: "No answer." },
      { known: true, count: 1 },
    ],
    2,
    { handled: 1, words: "handled, handled once" },
  ],
])("a receiver is asked until %s", async (_, readings, count, expected) => {
  let asked = 0;
  const observer = async (): Promise<Reading> => readings[asked++] ?? { known: true, count: 9 };
  const { signal } = new AbortController();
  expect(await observe(observer, "evt_1", { signal })).toEqual(expected);
  expect(asked).toBe(count);
});

test("a receiver is asked no longer than there is patience, nor after the end of the wait", async () => {
  const waiting: Reading = { known: true, count: 0, state: "waiting" };
  const unread: Reading = { known: false, reason: "No answer." };
  const { signal } = new AbortController();
  for (const [reading, words] of [
    [waiting, "waiting, handled 0 times after 0.06 s"],
    [unread, "No answer. after 0.06 s"],
  ] as const)
    expect((await observe(() => Promise.resolve(reading), "evt_1", { signal, patienceMs: 60 })).words).toBe(
      words,
    );
  const ended = { signal: AbortSignal.abort() };
  expect((await observe(() => Promise.resolve(waiting), "evt_1", ended)).words).toBe(
    "waiting, handled 0 times",
  );
});
