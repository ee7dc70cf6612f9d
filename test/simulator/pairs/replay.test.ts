import { existsSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { z } from "zod";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { listen } from "../../helpers/listen.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";

/** What `replay` sends with all its options together, each way that it can go. */

const TOTAL = 8;
/** Through a simulator so many envelopes go at a time. */
const BATCH = 100;

const idSchema = z.object({ id: z.string() });
const idsSchema = z.object({ envelopes: z.array(idSchema) });

function recording(total: number): { file: string; ids: string[] } {
  const ids = Array.from({ length: total }, (_, index) => `evt_${index.toString(16).padStart(32, "0")}`);
  const file = join(temporaryDirectory(), "recorded.jsonl");
  writeFileSync(
    file,
    ids.map((id) => `${JSON.stringify(sampleEnvelope("call.completed", { id }))}\n`).join(""),
  );
  return { file, ids };
}

/** Takes what a replay hands to a simulator; answers the ids of each request. */
async function startTaker() {
  const batches: string[][] = [];
  const { url, close } = await startEndpoint((response, _count, { body }) => {
    const ids = idsSchema.parse(JSON.parse(body.toString())).envelopes.map(({ id }) => id);
    batches.push(ids);
    const events = ids.map((id) => ({ id, type: "call.completed", org_id: "org_1" }));
    response.end(JSON.stringify({ events, deliveries: [] }));
  });
  return { url: new URL(url).origin, close, batches };
}

/** Every choice of options. */
const CHOICES = [0, 3, 6].flatMap((skip) =>
  [undefined, 0, 5].flatMap((resumed) =>
    [false, true].flatMap((newIds) => [false, true].map((rate) => ({ skip, resumed, newIds, rate }))),
  ),
);

test.each(["straight to an address", "through a simulator"])("with all options together, %s", async (way) => {
  const isStraight = way.startsWith("straight");
  const { file, ids } = recording(TOTAL);
  const state = join(temporaryDirectory(), "state.json");
  for (const choice of CHOICES.filter(({ rate }) => !isStraight || rate)) {
    const { skip, resumed, newIds, rate } = choice;
    const receiver = await startEndpoint();
    const taker = await startTaker();
    if (resumed === 5)
      writeFileSync(
        state,
        JSON.stringify({ sources: [file], total: TOTAL, done: 5, sent: 5, acknowledged: 5 }),
      );
    const options = [
      ...(isStraight ? ["--to", receiver.url, "--secret", "s"] : ["--simulator", taker.url, "--no-wait"]),
      ...(skip > 0 ? ["--skip", String(skip)] : []),
      ...(resumed === undefined ? [] : ["--resume", state]),
      ...(newIds ? ["--new-ids"] : []),
      ...(rate ? ["--rate", "100000"] : []),
    ];
    const { code, json: told } = await run("replay", file, ...options, "--json");
    const expected = ids.slice(Math.max(skip, resumed ?? 0));
    const batches = isStraight ? idsOf(receiver.received).map((id) => [id]) : taker.batches;
    expect({ choice, code, sizes: batches.map(({ length }) => length) }).toEqual({
      choice,
      code: 0,
      sizes: isStraight || rate ? expected.map(() => 1) : [expected.length],
    });
    const sent = batches.flat();
    const isSame = sent.join() === expected.join();
    const isNew = new Set([...sent, ...ids]).size === sent.length + ids.length;
    expect({ choice, isSame, isNew }).toEqual({ choice, isSame: !newIds, isNew: newIds });
    const before = resumed ?? 0;
    expect(told()).toMatchObject({ total: TOTAL, done: TOTAL, sent: before + expected.length, failed: 0 });
    expect(existsSync(state)).toBe(false);
    await Promise.all([receiver.close(), taker.close()]);
  }
});

test.each([1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 2 * BATCH + 1])(
  "of %i envelopes each goes through a simulator, whatever is left for the last request",
  async (total) => {
    const { file, ids } = recording(total);
    const taker = await startTaker();
    const { code } = await run("replay", file, "--simulator", taker.url, "--no-wait");
    expect(code).toBe(0);
    expect(taker.batches.flat()).toEqual(ids);
    expect(taker.batches.length).toBe(Math.ceil(total / BATCH));
  },
);

test("who follows the hint of a replay that could not go on sends each once", async () => {
  const { file, ids } = recording(TOTAL);
  const arrived: string[] = [];
  // The third is answered by a server that listens no more: there is nobody for the fourth.
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    arrived.push(idSchema.parse(await json(request)).id);
    if (arrived.length === 3) server.close();
    response.writeHead(200, { connection: "close" }).end();
  };
  const server = createServer((request, response) => void take(request, response));
  const { url } = await listen(server);
  const first = await run("replay", file, "--to", url, "--secret", "s");
  expect(first.code).toBe(3);
  const [, hint = ""] = /To go on: the same command with (--skip \d+)\.$/m.exec(first.err) ?? [];
  const another = await startEndpoint();
  const second = await run("replay", file, "--to", another.url, "--secret", "s", ...hint.split(" "));
  expect(second).toMatchObject({ code: 0 });
  expect([...arrived, ...idsOf(another.received)]).toEqual(ids);
});

function idsOf(received: readonly { body: Buffer }[]): string[] {
  return received.map(({ body }) => idSchema.parse(JSON.parse(body.toString())).id);
}
