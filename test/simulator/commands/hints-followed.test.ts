import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { startService } from "../../helpers/service.ts";
import { deliveryOf, emitOne, register } from "../../helpers/simulator.ts";
import { run } from "./in-process.ts";

/** Runs each command that a command suggests in a shell, unchanged, and checks its effect. */

/** A service with a dead delivery, a delivered one, and sometimes a waiting one. */
async function startSeen() {
  let status = 500;
  const send: SimulatorOptions["send"] = async () => ({ outcome: { status }, durationMs: 1 });
  const { simulator, url } = await startService({ clock: "manual", send });
  const endpoint = register(simulator, "http://localhost:9/webhooks").id;
  const dead = emitOne(simulator, "order.created");
  await simulator.clock.run();
  status = 200;
  const taken = emitOne(simulator);
  await simulator.settled();
  return {
    sim: (...words: string[]) => run(...words, "--simulator", url),
    fail: async () => {
      status = 503;
      emitOne(simulator, "order.created");
      await simulator.settled();
    },
    endpoint,
    dead,
    event: deliveryOf(simulator, dead).eventId,
    taken,
  };
}

type Seen = Awaited<ReturnType<typeof startSeen>>;

/** The parts of a command's JSON that the hints refer to. */
type Followed = {
  id: string;
  object: string;
  state: string;
  url: string;
  endpoint_id: string;
  event_id: string;
  resend_of: string | null;
  now: string;
  total: number;
  next_attempt_at: string | null;
  verdict: { why: string | null };
  events: { type: string }[];
  data: Followed[];
};

/** The words of the only command in a text, as a shell splits them. */
function commandIn(text: string): string[] {
  const [words = "", ...more] = [...text.matchAll(/voice-agent-simulator (.*)/g)].map(([, line]) => line);
  expect({ text, more }).toEqual({ text, more: [] });
  const shell = execFileSync("sh", ["-c", `printf '%s\\n' ${words}`], { encoding: "utf8" });
  return shell.trimEnd().split("\n");
}

/** Runs `words`, then the command that it suggests; returns that command's JSON. */
async function follow({ sim }: Pick<Seen, "sim">, words: readonly string[]): Promise<Followed> {
  const offering = await sim(...words);
  const offered = commandIn(offering.err);
  const followed = await run(...offered, "--json");
  expect({ offered, code: followed.code, err: followed.err }).toEqual({ offered, code: 0, err: "" });
  return followed.json<Followed>();
}

test.each([
  ["endpoints", { url: "http://localhost:3000/webhooks" }],
  ["trigger call.completed", { url: "http://localhost:3000/webhooks" }],
  ["replay call.completed", { url: "http://localhost:3000/webhooks" }],
  ["events", { events: [{ type: "call.completed" }] }],
  ["deliveries", { events: [{ type: "call.completed" }] }],
])("if there is nothing yet, the command that `%s` suggests changes that", async (words, expected) => {
  const { url } = await startService({ clock: "manual" });
  const sim: Seen["sim"] = (...given) => run(...given, "--simulator", url);
  expect(await follow({ sim }, words.split(" "))).toMatchObject(expected);
});

const OFFERS: [words: string, leadsTo: (seen: Seen) => object][] = [
  ["endpoints add http://localhost:9/x", () => ({ events: [{ type: "call.completed" }] })],
  ["endpoints show ENDPOINT", ({ taken, dead }) => ({ data: [{ id: taken }, { id: dead }] })],
  ["endpoints test ENDPOINT", ({ endpoint }) => ({ endpoint_id: endpoint })],
  ["events show EVENT", () => ({ object: "replay", total: 1 })],
  ["replay EVENT", ({ event }) => ({ data: [{ event_id: event }, {}, {}] })],
  ["deliveries", ({ dead }) => ({ id: dead, verdict: { why: expect.any(String) as string } })],
  ["deliveries --state attempting", () => ({ data: [{}, {}] })],
  ["deliveries --state attempting --endpoint ENDPOINT", () => ({ data: [{}, {}] })],
  ["deliveries show DEAD", ({ dead }) => ({ resend_of: dead })],
  ["deliveries resend DEAD", ({ dead }) => ({ resend_of: dead })],
  ["deliveries resend --state lost", ({ dead }) => ({ data: [{ resend_of: dead }, {}, {}] })],
  ["trigger order.created", ({ endpoint }) => ({ object: "delivery", endpoint_id: endpoint })],
  ["trigger order.created --no-wait", ({ endpoint }) => ({ object: "delivery", endpoint_id: endpoint })],
  ["trigger after-hours-voicemail", () => ({ object: "clock", next_attempt_at: null })],
  ["endpoints show ep_gone", ({ endpoint }) => ({ data: [{ id: endpoint }] })],
  ["endpoints change ep_gone --no-faults", ({ endpoint }) => ({ data: [{ id: endpoint }] })],
  ["events show evt_gone", ({ event }) => ({ data: [{}, { id: event }] })],
  ["deliveries show dlv_gone", ({ dead }) => ({ data: [{}, { id: dead }] })],
  ["deliveries resend dlv_gone", ({ dead }) => ({ data: [{}, { id: dead }] })],
];

test.each(OFFERS)("the next step that `%s` prints shows its subject", async (words, leadsTo) => {
  const seen = await startSeen();
  const named: Record<string, string> = { DEAD: seen.dead, EVENT: seen.event, ENDPOINT: seen.endpoint };
  const given = words.split(" ").map((word) => named[word] ?? word);
  expect(await follow(seen, given)).toMatchObject(leadsTo(seen));
});

test("`deliveries show` suggests a resend only for dead deliveries", async () => {
  const seen = await startSeen();
  await seen.fail();
  const { data } = (await seen.sim("deliveries", "--json")).json<Followed>();
  const offers: boolean[] = [];
  for (const { id } of data)
    offers.push((await seen.sim("deliveries", "show", id)).err.includes("deliveries resend"));
  expect(data.map(({ state }) => state)).toEqual(["attempting", "delivered", "dead"]);
  expect(offers).toEqual([false, false, true]);
});

test.each(["clock", "clock advance 1s", "clock mode manual"])(
  "the next step that `%s` prints moves the clock to its attempt",
  async (words) => {
    const seen = await startSeen();
    await seen.fail();
    const { next_attempt_at: due } = (await seen.sim("clock", "--json")).json<Followed>();
    expect((await follow(seen, words.split(" "))).now).toBe(due);
  },
);

test("if nothing waits, or the clock moves by itself, no clock command suggests moving it", async () => {
  const seen = await startSeen();
  expect((await seen.sim("clock")).err).toBe("");
  await seen.fail();
  expect((await seen.sim("clock", "mode", "real")).err).toBe("");
});
