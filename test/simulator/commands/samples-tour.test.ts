import { createServer } from "node:http";
import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { listen } from "../../helpers/listen.ts";
import { run } from "./in-process.ts";

/** `dev` with a receiver that is already running: the samples, its answers, and its reports. */

type Seen = { handled: number; state?: string; duplicates?: number };

/** Runs `dev --once` on a receiver that answers `status`, and reports `seen` for each event. */
async function tour(status: number, seen: Seen | undefined, ...more: string[]) {
  const receiver = await startEndpoint(status);
  const observer = createServer((_request, response) => void response.end(JSON.stringify(seen)));
  const observed = seen === undefined ? [] : ["--observe", `${(await listen(observer)).url}/{id}`];
  const words = ["dev", "--port", "0", "--calls", "0", "--once", "--url", receiver.url, "--secret", "s"];
  return { receiver, ran: await run(...words, ...observed, ...more) };
}

const ALL = "All 5 event types acknowledged";
const NOT_ALL = "Not every sample was handled: see the lines above.";

/** The verdict on a sample, and on the duplicate, where it is another. */
test.each<[number, Seen | undefined, number, words: string, summary: string]>([
  [200, undefined, 0, "Acknowledged", `${ALL}; the duplicate changed nothing that we could see.`],
  [
    204,
    { handled: 1, state: "done", duplicates: 1 },
    0,
    "Acknowledged, handled once",
    `${ALL} and handled exactly once; the duplicate changed nothing.`,
  ],
  [200, { handled: 2 }, 1, "Handled twice", NOT_ALL],
  [200, { handled: 0, state: "dead" }, 1, "Acknowledged, but never handled", NOT_ALL],
  [200, { handled: 0, state: "ignored" }, 1, "Acknowledged and ignored", NOT_ALL],
  [401, undefined, 1, "Not acknowledged so far (401)", "rejects what the service signs: it must verify"],
  [404, undefined, 1, "Not acknowledged so far (404)", "has no such path: give its address with --url."],
])("a receiver that answers %i and reports %j: exit code %i", async (status, seen, code, words, summary) => {
  const isTaken = status < 300;
  const again = !isTaken
    ? words
    : `Duplicate, ${words.replace(/^Acknowledged, h/, "h").replace(/^[AH]/, (first) => first.toLowerCase())}`;
  const { ran, receiver } = await tour(status, seen);
  expect(ran.code).toBe(code);
  const rows = ran.out.split("\n").filter((line) => / evt_[0-9a-f]{32} /.test(line));
  const types = [...EVENT_TYPES, EVENT_TYPES[0]];
  expect(rows.map((row) => row.trim().split(/ +/)[0])).toEqual(types);
  expect(rows.map((row) => row.replace(/^.* ms {2}/, ""))).toEqual(
    types.map((_, index) => (index < EVENT_TYPES.length ? words : again)),
  );
  for (const row of rows) expect(row).toMatch(new RegExp(` ${status} +\\d+ ms `));
  expect(ran.out).toContain(summary);
  const ids = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
  expect([ids.length, ids[5] === ids[0], new Set(ids).size]).toEqual([6, true, 5]);
});

test.each<[number, Seen | undefined, number]>([
  [204, undefined, 0],
  [200, { handled: 2 }, 1],
])("--json reports a receiver that answers %i and reports %j: exit code %i", async (status, seen, code) => {
  const { ran } = await tour(status, seen, "--json");
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
      handled: seen?.handled ?? null,
    })),
  });
});

test("an --observe address without reports is named with the reason", async () => {
  const { ran } = await tour(200, undefined, "--observe", "http://localhost:1/{id}");
  expect(ran.code).toBe(1);
  expect(ran.out).toContain("could not be read: connection refused");
});
