import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Behaviour, startEndpoint } from "../../helpers/endpoint.ts";
import { run as spawnRun } from "../../helpers/process.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run } from "./in-process.ts";
import { envelopes, idsOf, replayTo, SECRET, writeJsonLines } from "./replay-files.ts";

test("after a kill, the same command continues where it stopped", async () => {
  const held: (() => void)[] = [];
  const receiver = await startEndpoint((response, count) => {
    if (count <= 4) response.writeHead(200).end();
    else held.push(() => response.writeHead(200).end());
  });
  const file = writeJsonLines(8);
  const state = join(temporaryDirectory(), "replay.state");
  const args = ["replay", file, "--to", receiver.url, "--secret", SECRET, "--resume", state];
  const first = spawnRun("simulator/main.ts", args);
  await receiver.until(5);
  await first.kill();
  expect(JSON.parse(readFileSync(state, "utf8"))).toMatchObject({ total: 8, done: 4 });

  receiver.behave(200);
  const second = await run(...args);
  expect(second).toMatchObject({ code: 0, out: `8 sent to ${receiver.url}: 8 × 200.\n` });
  expect(second.err).toContain("Continuing after 4 of 8.");
  // The fifth was in flight at the kill: it is sent again, under the same id.
  expect(idsOf(receiver).slice(4)).toEqual([4, 4, 5, 6, 7].map((index) => envelopes(8)[index]?.id));

  const again = await run(...args);
  expect(again).toMatchObject({ code: 0, out: second.out });
  expect(again.err).toContain(`All 8 were sent before: remove ${state} to send them again.`);
  expect(receiver.received).toHaveLength(9);
});

test("failures before an interruption are reported at the end, with a failing exit code", async () => {
  const receiver = await startEndpoint((response, count) =>
    response.writeHead(count === 2 ? 500 : 200).end(),
  );
  const file = writeJsonLines(4);
  const state = join(temporaryDirectory(), "replay.state");
  const failure = { eventId: envelopes(2)[1]?.id, outcome: 500 };
  const progress = { done: 2, sent: 2, acknowledged: 1, outcomes: { 200: 1, 500: 1 }, failures: [failure] };
  writeFileSync(state, JSON.stringify({ sources: [file], total: 4, ...progress }));
  receiver.behave(200);
  const { code, json } = await replayTo(receiver.url, file, "--resume", state, "--json");
  expect(code).toBe(1);
  const failures = [{ event_id: failure.eventId, outcome: 500 }];
  const figures = { done: 4, sent: 4, acknowledged: 3, failed: 1, outcomes: { 200: 3, 500: 1 } };
  expect(json()).toMatchObject({ ...figures, failures });
});

test("the state file has the failures, for the next run", async () => {
  const state = join(temporaryDirectory(), "replay.state");
  const file = writeJsonLines(3);
  const states: unknown[] = [];
  const receiver = await startEndpoint((response, count) => {
    if (count > 1) states.push(JSON.parse(readFileSync(state, "utf8")));
    response.writeHead(count === 1 ? 503 : 200).end();
  });
  await replayTo(receiver.url, file, "--resume", state);
  const failures = [{ eventId: envelopes(1)[0]?.id, outcome: 503 }];
  expect(states).toMatchObject([
    { done: 1, sent: 1, acknowledged: 0, outcomes: { 503: 1 }, failures },
    { done: 2, sent: 2, acknowledged: 1, outcomes: { 200: 1, 503: 1 }, failures },
  ]);
});

test("when interrupted, it prints its progress and how to continue", async () => {
  const receiver = await startEndpoint();
  const args = ["replay", writeJsonLines(50), "--to", receiver.url, "--secret", SECRET, "--rate", "20"];
  const replay = spawnRun("simulator/main.ts", args);
  await receiver.until(3);
  expect(await replay.kill("SIGINT")).toEqual({ code: 3, signal: null });
  expect(replay.errors.join("\n")).toMatch(
    /Stopped after \d+ of 50: a replay with --resume FILE continues where it stopped\./,
  );
});

test("a state file of another replay is refused", async () => {
  const state = join(temporaryDirectory(), "state");
  const replay = () => replayTo("http://localhost:9/", "call.completed", "--resume", state);
  for (const [source, total] of [["other.jsonl", 1] as const, ["call.completed", 9] as const]) {
    writeFileSync(state, JSON.stringify({ sources: [source], total, done: 1 }));
    const { code, err } = await replay();
    expect(code).toBe(2);
    expect(err).toContain(`belongs to a replay of ${source} (${total} envelopes)`);
  }
  writeFileSync(state, "nonsense");
  expect((await replay()).err).toContain("is not the state file of a replay");
});

test.each<[string, Behaviour, number, number]>([
  ["failed in part", (response, count) => void response.writeHead(count === 1 ? 500 : 200).end(), 1, 3],
  ["was interrupted", () => void process.emit("SIGINT"), 3, 1],
])("the same command continues a replay that %s", async (_, behaviour, code, done) => {
  const file = writeJsonLines(3);
  const state = join(temporaryDirectory(), "state.json");
  const kept = { done: 1, sent: 1, acknowledged: 1, outcomes: { 200: 1 }, failures: [] };
  writeFileSync(state, JSON.stringify({ sources: [file], total: 3, ...kept }));
  const replay = (to: string) => replayTo(to, file, "--resume", state).then((ran) => ran.code);
  expect(await replay((await startEndpoint(behaviour)).url)).toBe(code);
  expect(JSON.parse(readFileSync(state, "utf8"))).toMatchObject({ total: 3, done });
  const next = await startEndpoint();
  expect(await replay(next.url)).toBe(done === 3 ? 1 : 0);
  const ids = envelopes(3).map(({ id }) => id);
  expect(idsOf(next)).toEqual(ids.slice(done));
});
