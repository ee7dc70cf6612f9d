import { expect, test } from "vitest";
import { createPageCache } from "../../../simulator/api/page-cache.ts";
import { DEFAULT_READINGS, READINGS } from "../../../simulator/domain/readings.ts";
import { startService as startWithReadings } from "../../helpers/service.ts";
import { readingsWith } from "../../helpers/simulator.ts";
import { startService } from "../commands/in-process.ts";

function list(name: string) {
  return { status: 200, body: { object: "list" as const, data: [{ object: "call", id: name }] } };
}

test("a computed page is cached until something changes", () => {
  let version = 1;
  let computed = 0;
  const cache = createPageCache({ version: () => ["same", version] });
  const ask = (key: string) => {
    const answer = cache.answer(key, () => list(`${key}${++computed}`));
    return "bytes" in answer ? answer.bytes.toString() : "";
  };
  expect(ask("a")).toContain('"id":"a1"');
  expect(ask("b")).toContain('"id":"b2"');
  expect(ask("a")).toContain('"id":"a1"');
  version += 1;
  expect(ask("a")).toContain('"id":"a3"');
  expect(computed).toBe(3);
});

test("is bounded: the least recently used page is evicted first", () => {
  const bytes = JSON.stringify(list("a1").body).length;
  const cache = createPageCache({ version: () => [], mostBytes: 2 * bytes });
  let computed = 0;
  const ask = (key: string) => cache.answer(key, () => list(`${key}${++computed}`));
  for (const key of ["a", "b", "a", "c", "a"]) ask(key);
  expect(computed).toBe(3);
  ask("b");
  expect(computed).toBe(4);
  // Two are kept, no more and no less.
  for (const key of ["b", "a"]) ask(key);
  expect(computed).toBe(4);
  ask("c");
  expect(computed).toBe(5);
});

test("the room in the cache is the same after each change as before it", () => {
  const bytes = JSON.stringify(list("a1").body).length;
  let version = 0;
  const cache = createPageCache({ version: () => [version], mostBytes: 2 * bytes });
  let computed = 0;
  for (version = 0; version < 5; version += 1)
    for (const key of ["a", "b", "a", "b"]) cache.answer(key, () => list(`${key}${++computed % 10}`));
  expect(computed).toBe(5 * 2);
});

test("refusals are not cached, and neither are long keys", () => {
  const cache = createPageCache({ version: () => [] });
  let computed = 0;
  for (let time = 0; time < 2; time++) {
    cache.answer("bad", () => {
      computed++;
      return { status: 400, body: { error: "invalid_cursor", message: "" } };
    });
    cache.answer("x".repeat(501), () => list(String(++computed)));
  }
  expect(computed).toBe(4);
});

test("over HTTP: new events appear at once, and each key gets its own data", async () => {
  const { simulator } = await startService({ calls: 20 });
  const calls = async (key = "va_test_restaurant", limit = 100) => {
    const response = await fetch(`${simulator.url}/api/v1/calls?limit=${String(limit)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    return ((await response.json()) as { data: { id: string }[] }).data;
  };
  const before = await calls();
  expect(await calls()).toEqual(before);
  expect(await calls("va_test_services")).not.toEqual(before);
  await simulator.emit("call.completed");
  const after = await calls();
  expect(after).toHaveLength(before.length + 1);
  expect(after.slice(1)).toEqual(before);
  await simulator.reset({ keepEndpoints: true });
  const anew = await calls("va_test_restaurant", 99);
  expect(anew).not.toEqual(after);
  expect(await calls()).toEqual(anew);
});

const ASKED = [
  "calls?",
  "calls?limit=500",
  "calls?limit=x",
  "calls?outcome=odd",
  "voicemails?reviewed=odd",
  "agents?",
];

test("a changed reading applies at once: the cache has no stale answers", async () => {
  const { url, simulator } = await startWithReadings({ seed: 7, calls: 60 });
  const headers = { authorization: "Bearer va_test_restaurant" };
  const answersOf = async (more: string) =>
    Promise.all(
      ASKED.map(async (path) => {
        const answer = await fetch(`${url}/api/v1/${path}${more}`, { headers });
        return [answer.status, await answer.text()];
      }),
    );
  const usual = await answersOf("");
  const seen = new Set<string>();
  for (const [name, { choices }] of Object.entries(READINGS)) {
    for (const choice of choices) {
      simulator.setReadings(readingsWith({ [name]: choice }));
      const page = await answersOf("");
      // An unknown parameter makes another cache key, so this answer is computed anew.
      expect({ name, choice, page }).toEqual({ name, choice, page: await answersOf(`&${name}=${choice}`) });
      if (JSON.stringify(page) !== JSON.stringify(usual)) seen.add(name);
    }
    simulator.setReadings(DEFAULT_READINGS);
  }
  expect(await answersOf("")).toEqual(usual);
  // Control: these readings changed an answer.
  expect([...seen].toSorted()).toEqual([
    "agents_has_more",
    "invalid_reviewed",
    "limit_not_a_number",
    "limit_out_of_range",
    "transfer_succeeded_form",
    "transfer_to_form",
    "unknown_outcome",
  ]);
});
