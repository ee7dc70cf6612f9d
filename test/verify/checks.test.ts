import { expect, onTestFinished, test, vi } from "vitest";
import { type Envelope, EVENT_TYPES } from "../../shared/events.ts";
import type { Reading } from "../../simulator/observer/observer.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import { type DeliverOptions, type Exchange, idIn } from "../../simulator/verify/delivery.ts";
import { createLedger } from "../../simulator/verify/ledger.ts";
import { createMaterial } from "../../simulator/verify/material.ts";
import { DEFAULT_TIMING } from "../../simulator/verify/timing.ts";
import { exchange } from "./exchange.ts";
import { fakeProcess } from "./fake-process.ts";

/** The verdict of one check on a receiver of which the test says how it answers, what it shows and how it ends. */

const SECRET = "whsec_of_checks";
const DIGEST = "0123456789abcdef".repeat(4);
const BURST = 3;

type Ending = Parameters<typeof exchange>[0];
/** A receiver by its deliveries, numbered from 0; what happens to it is pushed into `happened`. */
type Play = {
  answer?: (n: number, isForged: boolean) => Ending | Promise<Ending>;
  tookMs?: number[];
  /** The `count`th reading of the event that came with a delivery. */
  read?: (n: number, count: number) => Reading;
  output?: (body: string, isForged: boolean) => string;
  process?: Parameters<typeof fakeProcess>[0] | false;
  happened?: string[];
  leftMs?: number;
};

/** The cause of a failure and the numbers of the deliveries that show it, or the outcome and what it says. */
async function judged(checkId: string, play: Play) {
  const { answer = () => 200, read = () => handled(1), happened = [], output = () => "" } = play;
  const sent: Exchange[] = [];
  const [lines, odd, marked] = [[] as string[], [] as string[], [] as string[]];
  const [ledger, reads] = [createLedger(), new Map<string, number>()];
  const deliver = async (what: Envelope | Buffer, { forged = false }: DeliverOptions = {}) => {
    const body = what instanceof Uint8Array ? what : Buffer.from(JSON.stringify(what));
    const text = body.subarray(0, 9_000).toString();
    happened.push(forged ? "forged" : "sent");
    lines.push(output(text, forged));
    const made = exchange("timeout", { eventId: idIn(Buffer.from(text)) });
    if (text.includes('"object":{"object":"voicemail"}')) odd.push(made.eventId);
    const n = sent.push(made) - 1;
    made.durationMs = play.tookMs?.[n] ?? 1;
    made.request = { ...made.request, body, headers: [["X-Service-Signature", `t=1,v1=${DIGEST}`]] };
    made.outcome = exchange(await answer(n, forged)).outcome;
    ledger.record({ checkId, exchange: made, forged, connected: true });
    return made;
  };
  const receiver = fakeProcess({
    output: () => lines,
    stop: async (options) => void happened.push(`stop ${options?.graceMs}`),
    restart: async () => (happened.push("restart"), { ok: true, receiver }),
    ...play.process,
  });
  const short = { burst: BURST, retryMs: 0, promptMs: 60, quietMs: 60, manyOthers: 20, stallMs: 1 };
  const timing = { ...DEFAULT_TIMING, ...short };
  const of = (id: string): Reading => {
    reads.set(id, (reads.get(id) ?? 0) + 1);
    return read(
      sent.findIndex(({ eventId }) => eventId === id),
      reads.get(id) ?? 0,
    );
  };
  const material = createMaterial({ seed: "1", scope: checkId, events: EVENT_TYPES, nowSeconds: () => 1 });
  const context = { deliver, timing, ledger, secret: SECRET };
  const verdict = await CATALOGUE.find(({ id }) => id === checkId)?.run({
    ...material,
    ...context,
    handledNow: async (id: string) => of(id),
    leftMs: () => play.leftMs ?? 60_000,
    receiver: play.process === false ? undefined : receiver,
    answerTimeoutMs: () => timing.responseTimeoutMs,
    undocumented: (envelope: Envelope) => (marked.push(envelope.id), envelope),
    later: (earlier: Envelope, type: Envelope["type"]) =>
      material.event(type as "call.completed", earlier.data.object),
    async waitUntil(condition: () => Promise<boolean>) {
      for (let n = 0; n < 5; n += 1) if (await condition()) return true;
      return false;
    },
  } as unknown as CheckContext);
  // What cannot be handled must not be missed by the ledger of the run.
  expect(marked).toEqual(odd);
  const found = verdict?.outcome === "pending" ? verdict.judge({ of }) : verdict;
  if (found?.outcome === "failed") return [found.cause, ...found.exchanges.map((one) => sent.indexOf(one))];
  return found?.outcome === "passed"
    ? ["passed", found.note ?? ""]
    : [found?.outcome, found?.isDeferred === true ? "deferred" : found?.reason];
}

const handled = (count: number, more = {}): Reading => ({ known: true, count, ...more });
/** The reading of the first event; all others were handled once. */
const first = (reading: Reading) => ({ read: (n: number) => (n === 0 ? reading : handled(1)) });
const says = (text: string | RegExp) => expect.stringMatching(text) as string;
const PASSED = ["passed", ""];
const REFUSED = ["unverified", says("refuses the event")];
const EVEN_THAT = ["unverified", says("cannot make its work fail")];
const FORGED = { answer: (_: number, isForged: boolean) => (isForged ? 401 : 200) };
const TAKEN = { answer: () => 200 };

test.each<[checkId: string, play: Play, expected: unknown[]]>([
  ["load.prompt", { tookMs: [1, 5_000, 2] }, PASSED],
  ["load.prompt", { tookMs: [1, 5_001, 2] }, ["slow", 1]],
  ["acknowledgement.prompt", { tookMs: [1, 2_000, 2] }, PASSED],
  ["acknowledgement.prompt", { tookMs: [1, 2_001, 2] }, ["slow", 1]],
  ["load.among-forgeries", FORGED, PASSED],
  ["load.among-forgeries", TAKEN, ["forgery_accepted", 0]],
  ["load.among-forgeries", { answer: (_, isForged) => (isForged ? 401 : 503) }, ["unavailable", 28]],
  ["acknowledgement.after-forgery", TAKEN, ["forgery_accepted", 0]],
  ["wire.forged-rubbish", TAKEN, ["forgery_accepted", 0]],
  ["wire.large-forgery", TAKEN, ["forgery_accepted", 0]],
  ["duplicates.at-once-any", { answer: (n) => (n === 7 ? 200 : 503) }, PASSED],
  ["duplicates.at-once-any", { answer: () => 503 }, ["unavailable", 0]],
  ["effects.after-handling", {}, PASSED],
  [
    "effects.after-handling",
    { read: (_, count) => handled(count < 6 ? 0 : 1) },
    ["unverified", says("0.06 s")],
  ],
  ["effects.after-handling", { read: (_, count) => handled(count < 2 ? 1 : 2) }, ["handled_twice", 0, 1]],
  ["effects.after-many-others", {}, ["unverified", "No event was acknowledged."]],
  ["effects.same-call-two-types", { read: (n, count) => handled(n > 0 || count < 2 ? 1 : 0) }, PASSED],
  ["effects.same-call-two-types", first(handled(0)), ["never_handled", 0]],
  ["effects.same-call-two-types", { read: (n) => handled(n > 0 ? 0 : 1) }, ["never_handled", 1]],
  ["effects.burst", { answer: (n) => (n === 0 ? 503 : 200), ...first(handled(0)) }, PASSED],
  ["effects.burst", { answer: (n) => (n === 0 ? 503 : 200), ...first(handled(2)) }, ["handled_twice", 0]],
  ["effects.burst", { read: (n) => handled(n === 2 ? 0 : 1) }, ["never_handled", 2]],
  ["effects.prompt", { read: (_, count) => handled(count < 5 ? 0 : 1) }, PASSED],
  ["effects.prompt", { read: () => handled(0) }, ["handled_late", 0]],
  ["effects.prompt", { read: () => handled(0, { isIgnored: true }) }, ["unverified", says("ignores")]],
  ["effects.prompt", { read: () => handled(0, { deferredUntil: "2030" }) }, ["unverified", "deferred"]],
  ["production.failed-work-retried", { answer: () => 400 }, REFUSED],
  ["production.failed-work-retried", first(handled(1)), EVEN_THAT],
  ["production.failed-work-retried", first(handled(0, { state: "waiting" })), PASSED],
  ["production.failed-work-retried", first(handled(0, { attempts: 2 })), PASSED],
  ["production.failed-work-retried", first(handled(0, { attempts: 1 })), ["failure_hidden", 0]],
  ["production.failed-work-retried", { read: (_, count) => handled(0, { attempts: count / 2 }) }, PASSED],
  ["production.failed-work-retried", first({ known: false, reason: "" }), ["failure_hidden", 0]],
  ["production.poison-stops-nothing", { answer: () => 400 }, REFUSED],
  ["production.poison-stops-nothing", {}, EVEN_THAT],
  ["production.poison-stops-nothing", first(handled(0)), PASSED],
  ["production.poison-stops-nothing", { read: () => handled(0) }, ["held_up", 0, 1]],
  ["production.poison-stops-nothing", { read: (n) => handled(n === 0 ? 0 : 2) }, ["handled_twice", 1]],
  ["production.drains", { process: false }, ["unverified", "There is no process to end."]],
  ["production.drains", { answer: (n) => (n === 1 ? "closed" : 200) }, ["not_drained", 1]],
  ["production.drains", { answer: (n) => (n === 1 ? "refused" : 503) }, ["passed", says(/after \d+ ms\.$/)]],
  ["production.full-queue-survives", { answer: (n) => (n === 0 ? 503 : 200), ...first(handled(0)) }, PASSED],
  ["production.full-queue-survives", first(handled(0)), ["never_handled", 0]],
  ["production.log-names-nobody", { output: (body) => /"id":.*,"created"/.exec(body)?.[0] ?? "" }, PASSED],
  ...[/"customer_name":"[^"]*"/, /"transcript":"[^"]*"/, /"message_text":"[^"]*"/, /^\{"id":"[^,]+[^}]$/].map(
    (logged): [string, Play, unknown[]] => [
      "production.log-names-nobody",
      { output: (body) => logged.exec(body)?.[0] ?? "" },
      ["leaked", 0],
    ],
  ),
  ["production.log-names-nobody", { output: (body, isForged) => (isForged ? body : "") }, ["leaked", 0]],
  ["production.log-names-nobody", { output: () => `key ${SECRET}` }, ["leaked", 0]],
  ["production.log-names-nobody", { output: () => `expected ${DIGEST}` }, ["leaked", 0]],
])("%s of a receiver like %o: %j", async (checkId, play, expected) => {
  expect(await judged(checkId, play)).toEqual(expected);
});

test("a process is asked to end while requests are under way, has 15 s for it, and is started again", async () => {
  const [happened, asked] = [[] as string[], Promise.withResolvers<void>()];
  const answer = async (n: number) => (n > 0 && (await asked.promise), 200);
  const stop = async ({ graceMs }: { graceMs?: number } = {}): Promise<void> => {
    asked.resolve();
    await new Promise(setImmediate);
    happened.push(`${graceMs}`);
  };
  expect((await judged("production.drains", { happened, answer, process: { stop } }))[0]).toBe("passed");
  expect(happened).toEqual(["sent", "sent", "sent", "15000", "restart"]);

  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  const within = (ms: number) =>
    judged("production.drains", { process: { stop: async () => void (nowMs += ms) } });
  expect([await within(14_999), await within(15_000)]).toEqual([
    ["passed", "It ended after 14999 ms."],
    ["not_drained"],
  ]);
});

test("a full queue is there before the process ends, and is judged when it takes deliveries again", async () => {
  const happened: string[] = [];
  await judged("production.full-queue-survives", { happened, answer: (n) => (n === BURST ? 503 : 200) });
  expect(happened).toEqual(["sent", "sent", "sent", "stop undefined", "restart", "sent", "sent"]);
});

test.each<[grownKb: number, play: Play, sent: number, expected: unknown]>([
  [0, { leftMs: 1_001 }, 301, ["passed", "It grew by 0 MB."]],
  [0, { leftMs: 1_000 }, 1, ["passed", "It grew by 0 MB."]],
  [0, { answer: (n) => (n < 300 ? 200 : 503) }, 306, ["unavailable", 305]],
  [200 * 1024, {}, 301, ["passed", "It grew by 200 MB."]],
  [200 * 1024 + 1, {}, 300, ["memory_grew"]],
  [0, { process: {} }, 0, ["unverified", "Its memory can be read only on Linux."]],
])("a flood that takes %i kB, with %o, after %i deliveries: %j", async (grownKb, play, sent, expected) => {
  const happened: string[] = [];
  let kb = 70_000;
  const answer = async (n: number) => ((kb = 70_000 + grownKb), play.answer?.(n, true) ?? 200);
  const process = { memoryBytes: async () => kb * 1024 };
  const verdict = await judged("production.flood-costs-no-memory", { process, ...play, happened, answer });
  expect(verdict).toEqual(expected);
  expect(happened).toHaveLength(sent);
});
