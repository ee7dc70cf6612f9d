import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { verify } from "../../../shared/signature.ts";
import { createOutput } from "../../../simulator/commands/output.ts";
import { createReplayReport } from "../../../simulator/commands/replay-report.ts";
import { ATTEMPT_ERRORS } from "../../../simulator/domain/outcome.ts";
import { run as spawnRun } from "../../helpers/process.ts";
import { type Behaviour, startEndpoint } from "../../helpers/endpoint.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run, startService } from "./in-process.ts";

const secret = "whsec_test";

function envelopes(count: number) {
  return Array.from({ length: count }, (_, index) => {
    const id = `evt_${index.toString(16).padStart(32, "0")}`;
    return sampleEnvelope("call.completed", { id, note: `é ${index}` });
  });
}

function writeJsonLines(count: number): string {
  const file = join(temporaryDirectory(), "inbox.jsonl");
  const lines = envelopes(count).map((envelope) => `${JSON.stringify(envelope)}\n`);
  writeFileSync(file, lines.join(""));
  return file;
}

function idsOf(endpoint: { received: { body: Buffer }[] }): string[] {
  return endpoint.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
}

test("a file of JSON lines goes straight to an address, in order, signed afresh", async () => {
  const receiver = await startEndpoint();
  const file = writeJsonLines(5);
  const { code, out } = await run("replay", file, "--to", receiver.url, "--secret", secret);
  expect({ code, out }).toEqual({ code: 0, out: `5 sent to ${receiver.url}: 5 × 200.\n` });
  expect(idsOf(receiver)).toEqual(envelopes(5).map(({ id }) => id));
  for (const { signature, body } of receiver.received) {
    const nowSeconds = Math.floor(Date.now() / 1000);
    expect(verify({ headers: [signature], body, secrets: [secret], nowSeconds })).toMatchObject({ ok: true });
  }
  expect(JSON.parse(receiver.received[0]?.body.toString() ?? "")).toEqual(envelopes(1)[0]);
});

test.each([
  ["an array", (all: unknown[]) => all],
  ["records with an envelope", (all: unknown[]) => all.map((envelope) => ({ id: "x", envelope }))],
])("a JSON file may hold %s", async (_, wrap) => {
  const receiver = await startEndpoint();
  const file = join(temporaryDirectory(), "events.json");
  writeFileSync(file, JSON.stringify(wrap(envelopes(3)), null, 2));
  await run("replay", file, "--to", receiver.url, "--secret", secret);
  expect(idsOf(receiver)).toEqual(envelopes(3).map(({ id }) => id));
});

test("event types select samples, each with its own id", async () => {
  const receiver = await startEndpoint();
  await run("replay", ...EVENT_TYPES, "--to", receiver.url, "--secret", secret);
  const types = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type);
  expect(types).toEqual([...EVENT_TYPES]);
  expect(new Set(idsOf(receiver)).size).toBe(EVENT_TYPES.length);
});

test("--new-ids gives every event a new id", async () => {
  const receiver = await startEndpoint();
  await run("replay", writeJsonLines(3), "--to", receiver.url, "--secret", secret, "--new-ids");
  expect(new Set([...idsOf(receiver), ...envelopes(3).map(({ id }) => id)]).size).toBe(6);
});

test("unacknowledged events are reported, and exit 1", async () => {
  const receiver = await startEndpoint((response, count) =>
    response.writeHead(count === 2 ? 500 : 200).end(),
  );
  const file = writeJsonLines(3);
  const options = ["--to", receiver.url, "--secret", secret];
  const { code, json } = await run("replay", file, ...options, "--json");
  expect(code).toBe(1);
  const failures = [{ event_id: envelopes(2)[1]?.id, outcome: 500 }];
  const figures = { total: 3, done: 3, sent: 3, acknowledged: 2, failed: 1, outcomes: { 200: 2, 500: 1 } };
  expect(json()).toEqual({ object: "replay", target: receiver.url, ...figures, failures });
  receiver.behave(401);
  expect((await run("replay", file, ...options)).out).toContain("3 not acknowledged: 3 × 401.");
});

test("through the running simulator it goes to the endpoints, with retries", async () => {
  const { sim, simulator } = await startService();
  const file = writeJsonLines(250);
  const lonely = await sim("replay", "call.completed");
  expect(lonely.err).toContain("No endpoint receives them.");

  const receiver = await startEndpoint();
  simulator.endpoints.add({ url: receiver.url });
  const { code, out, err } = await sim("replay", file);
  const sent = `250 sent to ${simulator.url}.\n`;
  expect({ code, out }).toEqual({ code: 0, out: `${sent}First attempts: 250 × 200\n` });
  expect(err).toContain(`deliveries --simulator ${simulator.url}`);
  await simulator.deliveries.settled();
  expect(idsOf(receiver).toSorted()).toEqual(envelopes(250).map(({ id }) => id));

  receiver.behave((response, count) => response.writeHead(count % 2 === 0 ? 200 : 503).end());
  const again = (await sim("replay", writeJsonLines(10), "--new-ids", "--json")).json();
  expect(again.first_attempts).toEqual({ 200: 5, 503: 5 });
  expect((await sim("replay", "call.completed", "--no-wait")).out).toBe(`1 sent to ${simulator.url}.\n`);
});

test("an event id is read from the running simulator", async () => {
  const { sim, simulator } = await startService();
  const { events } = await simulator.emit("voicemail.created");
  const receiver = await startEndpoint();
  await sim("replay", events[0]?.id ?? "", "--to", receiver.url, "--secret", secret);
  expect(JSON.parse(receiver.received[0]?.body.toString() ?? "")).toEqual(events[0]);
});

test("after a kill, the same command continues where it stopped", async () => {
  const held: (() => void)[] = [];
  const receiver = await startEndpoint((response, count) => {
    if (count <= 4) response.writeHead(200).end();
    else held.push(() => response.writeHead(200).end());
  });
  const file = writeJsonLines(8);
  const state = join(temporaryDirectory(), "replay.state");
  const args = ["replay", file, "--to", receiver.url, "--secret", secret, "--resume", state];
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
  const options = ["--to", receiver.url, "--secret", secret, "--resume", state, "--json"];
  const { code, json } = await run("replay", file, ...options);
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
  await run("replay", file, "--to", receiver.url, "--secret", secret, "--resume", state);
  const failures = [{ eventId: envelopes(1)[0]?.id, outcome: 503 }];
  expect(states).toMatchObject([
    { done: 1, sent: 1, acknowledged: 0, outcomes: { 503: 1 }, failures },
    { done: 2, sent: 2, acknowledged: 1, outcomes: { 200: 1, 503: 1 }, failures },
  ]);
});

test("an edited envelope under the id of a stored event is refused, and offered an id of its own", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint();
  simulator.endpoints.add({ url: receiver.url });
  const { events } = await simulator.emit("voicemail.created");
  const file = join(temporaryDirectory(), "edited.json");
  writeFileSync(file, JSON.stringify({ ...events[0], created: 1 }));
  const refused = await sim("replay", file);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("--new-ids") });
  expect(receiver.received).toHaveLength(1);
  expect(await sim("replay", file, "--new-ids")).toMatchObject({ code: 0 });
  await receiver.until(2);
  expect(JSON.parse(receiver.received[1]?.body.toString() ?? "")).toMatchObject({ created: 1 });
});

test("when interrupted, it prints its progress and how to continue", async () => {
  const receiver = await startEndpoint();
  const args = ["replay", writeJsonLines(50), "--to", receiver.url, "--secret", secret, "--rate", "20"];
  const replay = spawnRun("simulator/main.ts", args);
  await receiver.until(3);
  expect(await replay.kill("SIGINT")).toEqual({ code: 3, signal: null });
  expect(replay.errors.join("\n")).toMatch(
    /Stopped after \d+ of 50: a replay with --resume FILE continues where it stopped\./,
  );
});

test("a state file of another replay is refused", async () => {
  const state = join(temporaryDirectory(), "state");
  const options = ["--to", "http://localhost:9/", "--secret", secret, "--resume", state];
  for (const [source, total] of [["other.jsonl", 1] as const, ["call.completed", 9] as const]) {
    writeFileSync(state, JSON.stringify({ sources: [source], total, done: 1 }));
    const { code, err } = await run("replay", "call.completed", ...options);
    expect(code).toBe(2);
    expect(err).toContain(`belongs to a replay of ${source} (${total} envelopes)`);
  }
  writeFileSync(state, "nonsense");
  expect((await run("replay", "call.completed", ...options)).err).toContain(
    "is not the state file of a replay",
  );
});

test("an address where nothing listens exits with could not run, and is not tried for every event", async () => {
  const options = ["--to", "http://127.0.0.1:1/", "--secret", secret];
  const { code, err } = await run("replay", "call.completed", "order.created", ...options);
  expect(code).toBe(3);
  expect(err).toContain("Nothing answers at http://127.0.0.1:1/ (refused).");
});

test("a line that is not an envelope is named by its number, even an unterminated last one", async () => {
  const file = join(temporaryDirectory(), "inbox.jsonl");
  const good = `${JSON.stringify(sampleEnvelope("call.completed"))}\n`;
  for (const [text, number] of [
    [`\n${good}{}\n${good}`, 3],
    [`\n${good}\n{}`, 4],
  ] as const) {
    writeFileSync(file, text);
    const { err } = await run("replay", file, "--to", "http://localhost:9/", "--secret", secret);
    expect(err).toContain(`inbox.jsonl:${number}: this is not an event envelope`);
  }
});

test.each([
  [["call.complete"], 'Did you mean "call.completed"?'],
  [["nothing.jsonl"], "nothing.jsonl is not an event id (evt_…), a file or an event type."],
  [["package.json"], "package.json, item 1: this is not an event envelope"],
  [["call.completed", "--rate", "0"], "Give events a second"],
  [["call.completed", "--fault", "delay"], "--fault needs a running simulator"],
  [["call.completed", "--to", "http://example.com/"], "http:// is for localhost only"],
])("%j is wrong usage, in one line", async (args, message) => {
  const to = args.includes("--to") ? [] : ["--to", "http://localhost:9/"];
  const { code, out, err } = await run("replay", ...args, ...to, "--secret", secret);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

test("a number that is too long for JavaScript keeps all its digits, directly and through the simulator", async () => {
  const long = "123456789012345678901234567890";
  const file = join(temporaryDirectory(), "inbox.jsonl");
  writeFileSync(file, JSON.stringify({ ...envelopes(1)[0], account: 7 }).replace("7}", `${long}}`));
  const receiver = await startEndpoint();
  await run("replay", file, "--to", receiver.url, "--secret", secret);
  expect(receiver.received[0]?.body.toString()).toContain(`"account":${long}`);
  const { sim, simulator } = await startService();
  simulator.endpoints.add({ url: receiver.url });
  await sim("replay", file);
  await receiver.until(2);
  expect(receiver.received[1]?.body.toString()).toContain(`"account":${long}`);
  expect((await sim("replay", envelopes(1)[0]?.id ?? "")).code).toBe(0);
  await receiver.until(3);
  expect(receiver.received[2]?.body.toString()).toContain(`"account":${long}`);
});

test.each([1, 10, 11, 25])(
  "of %i that failed the first ten are named, and the others counted",
  async (count) => {
    const receiver = await startEndpoint(500);
    const file = writeJsonLines(count);
    const words = ["replay", file, "--to", receiver.url, "--secret", secret];
    const { code, out } = await run(...words);
    const ids = envelopes(count).map(({ id }) => id);
    expect({ code, lines: out.trimEnd().split("\n") }).toEqual({
      code: 1,
      lines: [
        ...ids.slice(0, 10).map((id) => `[500] ${id}`),
        ...(count > 10 ? [`… and ${count - 10} more`] : []),
        `${count} sent to ${receiver.url}, ${count} not acknowledged: ${count} × 500.`,
      ],
    });
    const failures = ids.slice(0, 10).map((id) => ({ event_id: id, outcome: 500 }));
    expect((await run(...words, "--json")).json()).toMatchObject({ failed: count, failures });
  },
);

test.each<[string, Behaviour, number, number]>([
  ["failed in part", (response, count) => void response.writeHead(count === 1 ? 500 : 200).end(), 1, 3],
  ["was interrupted", () => void process.emit("SIGINT"), 3, 1],
])("the same command continues a replay that %s", async (_, behaviour, code, done) => {
  const file = writeJsonLines(3);
  const state = join(temporaryDirectory(), "state.json");
  const kept = { done: 1, sent: 1, acknowledged: 1, outcomes: { 200: 1 }, failures: [] };
  writeFileSync(state, JSON.stringify({ sources: [file], total: 3, ...kept }));
  const replay = (to: string) =>
    run("replay", file, "--to", to, "--secret", secret, "--resume", state).then((ran) => ran.code);
  expect(await replay((await startEndpoint(behaviour)).url)).toBe(code);
  expect(JSON.parse(readFileSync(state, "utf8"))).toMatchObject({ total: 3, done });
  const next = await startEndpoint();
  expect(await replay(next.url)).toBe(done === 3 ? 1 : 0);
  const ids = envelopes(3).map(({ id }) => id);
  expect(idsOf(next)).toEqual(ids.slice(done));
});

/** How many envelopes go through a simulator at a time. */
const BATCH = 100;

test.each([1, BATCH, BATCH + 1, 2 * BATCH + 1])(
  "all of %i envelopes go through a simulator, in requests of at most a hundred",
  async (total) => {
    const batches: string[][] = [];
    const taker = await startEndpoint((response, _count, { body }) => {
      const sent = z.object({ envelopes: z.array(z.object({ id: z.string() })) });
      const ids = sent.parse(JSON.parse(body.toString())).envelopes.map(({ id }) => id);
      batches.push(ids);
      const events = ids.map((id) => ({ id, type: "call.completed", org_id: "org_1" }));
      response.end(JSON.stringify({ events, deliveries: [] }));
    });
    const origin = new URL(taker.url).origin;
    expect((await run("replay", writeJsonLines(total), "--simulator", origin, "--no-wait")).code).toBe(0);
    expect(batches.flat()).toEqual(envelopes(total).map(({ id }) => id));
    expect(batches.length).toBe(Math.ceil(total / BATCH));
  },
);

test.each(ATTEMPT_ERRORS)("whether it continues after %s", (outcome) => {
  const before = { done: 0, sent: 0, acknowledged: 0, outcomes: {}, failures: [] };
  const report = createReplayReport({ total: 3, before, output: createOutput({ json: true }) });
  const later = { eventId: "evt_2", outcome: 200 };
  report.add([{ eventId: "evt_1", outcome }, later]);
  const isHopeless = outcome === "dns" || outcome === "refused";
  const isCut = isHopeless || outcome === "interrupted";
  const counted = [report.isHopeless(), report.done(), report.failed()];
  expect(counted).toEqual([isHopeless, isCut ? 0 : 2, isCut ? 0 : 1]);
});
