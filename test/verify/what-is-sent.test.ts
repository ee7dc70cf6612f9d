import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { SIGNATURE_HEADER, verify } from "../../shared/signature.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import { createContext } from "../../simulator/verify/context.ts";
import { idIn } from "../../simulator/verify/delivery.ts";
import { createLedger } from "../../simulator/verify/ledger.ts";
import { createReceiverClock } from "../../simulator/verify/receiver-clock.ts";
import { DEFAULT_TIMING } from "../../simulator/verify/timing.ts";
import type { Outcome } from "../../simulator/verify/wire.ts";
import { createSilentWire, createWords, short } from "./sent-in-words.ts";

/**
 * What each check sends, held against a verifier of its own and written down in words; nothing goes over a network. A check
 * that sends something else than its title says passes every right receiver all the same, so nothing else would tell.
 */

const SECRET = "whsec_what_is_sent";
const NOW = 1_790_000_000;
const now = () => NOW * 1_000 + 50;
/** The others send around kills of a process, or for long, and have tests of their own. */
const CHECKS = CATALOGUE.filter(
  ({ phase, thorough, id }) => phase !== "crash" && !thorough && id !== "effects.ledger",
);

type Sent = { words: string; isGenuine: boolean; isForged: boolean };

/** Plays a check against a receiver that takes what is signed rightly and handles it once. */
async function play(check: Check) {
  const sent: Sent[] = [];
  const wires: ReturnType<typeof createSilentWire>[] = [];
  const handled = new Set<string>();
  const inWords = createWords(SECRET, NOW);
  const noKill = () => Promise.reject(new Error("nothing is killed here"));
  const context = createContext({
    url: "http://127.0.0.1:1/webhooks",
    secret: SECRET,
    seed: "1",
    checkId: check.id,
    events: EVENT_TYPES,
    timing: { ...DEFAULT_TIMING, burst: 6, manyOthers: 2, stallMs: 1, retryMs: 0 },
    answerTimeoutMs: () => 1_000,
    ledger: createLedger({ nowMs: () => 0 }),
    clock: createReceiverClock({ local: true, now }),
    kills: { acknowledged: noKill, burst: noKill, terminated: noKill, streamed: noKill },
    now,
  });
  const deliver: typeof context.deliver = async (what, options = {}) => {
    const composed = context.compose(what, options);
    const { body, request, head, framedBody } = composed;
    const name = options.signatureHeaderName ?? SIGNATURE_HEADER;
    const headers = request.headers.flatMap(([own, value]) => (own === name ? [value] : []));
    const isRight = verify({ headers, body, secrets: [SECRET], nowSeconds: NOW }).ok;
    const { wire, written, writes, done } = createSilentWire();
    await options.manner?.send(wire, composed);
    const isWhole = options.manner === undefined || written().equals(Buffer.concat([head, framedBody]));
    const isGenuine = isRight && isWhole;
    const manner = options.manner === undefined ? [] : [`in ${writes()} writes`, ...done];
    const missing = isWhole ? [] : [`without ${head.length + framedBody.length - written().length} bytes`];
    const words = [inWords(composed, options), ...manner, ...missing].join(" ");
    sent.push({ words, isGenuine, isForged: options.forged === true });
    const eventId = what instanceof Uint8Array ? idIn(what) : what.id;
    if (isGenuine) handled.add(eventId);
    const status = isRight ? 200 : 401;
    const outcome: Outcome = { kind: "answered", status, headers: [], body: Buffer.alloc(0), complete: true };
    const exchange = { eventId, request, outcome, durationMs: 1 };
    return context.record(exchange, { forged: options.forged === true, connected: true });
  };
  const count = (id: string) => ({ known: true, count: handled.has(id) ? 1 : 0 }) as const;
  const found = await check.run({
    ...context,
    deliver,
    open: async () => {
      const opened = createSilentWire();
      wires.push(opened);
      return opened.wire;
    },
    measureClock: async () => ({ least: 0, most: 0 }),
    withinOneSecond: async (_, send) => send(NOW),
    handledNow: async (id) => count(id),
  });
  const { outcome } = found.outcome === "pending" ? found.judge({ of: count }) : found;
  const byHand = wires.map(({ written, writes, done }) =>
    [`${writes()} writes of`, short(written().toString("latin1")), ...done].join(" "),
  );
  return { check, sent, outcome, words: counted([...sent.map(({ words }) => words), ...byHand]) };
}

test("each check sends what it is about, forged or not as it says", async () => {
  const played = await Promise.all(CHECKS.map(play));
  expect(played.filter(({ outcome }) => outcome !== "passed").map(({ check }) => check.id)).toEqual([]);
  // What is whole and rightly signed is to be taken, and nothing else; headers of 200 KB may be refused all the same.
  const odd = played.filter(({ sent }) => sent.some(({ isGenuine, isForged }) => isGenuine === isForged));
  expect(odd.map(({ check }) => check.id)).toEqual(["wire.large-head"]);
  const lines = played.map(({ check, words }) => [check.id, ...words].join("\n  "));
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("what-is-sent.txt");
});

/** The same thing several times is said once. */
function counted(words: readonly string[]): string[] {
  return [...new Set(words)].map((word) => {
    const count = words.filter((other) => other === word).length;
    return count === 1 ? word : `${count} × ${word}`;
  });
}
