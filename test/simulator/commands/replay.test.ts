import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { verify } from "../../../shared/signature.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run, startService } from "./in-process.ts";
import { envelopes, idsOf, replayTo, SECRET, writeJsonLines } from "./replay-files.ts";

test("a file of JSON lines goes straight to an address, in order, signed afresh", async () => {
  const receiver = await startEndpoint();
  const file = writeJsonLines(5);
  const { code, out } = await replayTo(receiver.url, file);
  expect({ code, out }).toEqual({ code: 0, out: `5 sent to ${receiver.url}: 5 × 200.\n` });
  expect(idsOf(receiver)).toEqual(envelopes(5).map(({ id }) => id));
  for (const { signature, body } of receiver.received) {
    const nowSeconds = Math.floor(Date.now() / 1000);
    expect(verify({ headers: [signature], body, secrets: [SECRET], nowSeconds })).toMatchObject({ ok: true });
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
  await replayTo(receiver.url, file);
  expect(idsOf(receiver)).toEqual(envelopes(3).map(({ id }) => id));
});

test("event types select samples, each with its own id", async () => {
  const receiver = await startEndpoint();
  await replayTo(receiver.url, ...EVENT_TYPES);
  const types = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type);
  expect(types).toEqual([...EVENT_TYPES]);
  expect(new Set(idsOf(receiver)).size).toBe(EVENT_TYPES.length);
});

test("--new-ids gives every event a new id", async () => {
  const receiver = await startEndpoint();
  await replayTo(receiver.url, writeJsonLines(3), "--new-ids");
  expect(new Set([...idsOf(receiver), ...envelopes(3).map(({ id }) => id)]).size).toBe(6);
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
  await sim("replay", events[0]?.id ?? "", "--to", receiver.url, "--secret", SECRET);
  expect(JSON.parse(receiver.received[0]?.body.toString() ?? "")).toEqual(events[0]);
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

test("an address where nothing listens exits with could not run, and is not tried for every event", async () => {
  const { code, err } = await replayTo("http://127.0.0.1:1/", "call.completed", "order.created");
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
    const { err } = await replayTo("http://localhost:9/", file);
    expect(err).toContain(`inbox.jsonl:${number}: this is not an event envelope`);
  }
});

test.each([
  [["call.complete"], 'Did you mean "call.completed"?'],
  [["nothing.jsonl"], "nothing.jsonl is not an event id (evt_…), a file or an event type."],
  [["package.json"], "package.json, item 1: this is not an event envelope"],
  [["call.completed", "--rate", "0"], "Give events a second"],
  [["call.completed", "--resume", "/none/state"], "cannot be kept in /none/state (ENOENT", 3],
  [["call.completed", "--fault", "delay"], "--fault needs a running simulator"],
  [["call.completed", "--to", "http://example.com/"], "http:// is for localhost only"],
])("%j is wrong usage, in one line", async (args, message, exitCode = 2) => {
  const to = args.includes("--to") ? [] : ["--to", "http://localhost:9/"];
  const { code, out, err } = await run("replay", ...args, ...to, "--secret", SECRET);
  expect({ code, out }).toEqual({ code: exitCode, out: "" });
  expect(err).toContain(message);
});

test("a number that is too long for JavaScript keeps all its digits, directly and through the simulator", async () => {
  const long = "[123456789012345678901234567890,1e999]";
  const file = join(temporaryDirectory(), "inbox.jsonl");
  writeFileSync(file, JSON.stringify({ ...envelopes(1)[0], account: 7 }).replace("7}", `${long}}`));
  const receiver = await startEndpoint();
  await replayTo(receiver.url, file);
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
