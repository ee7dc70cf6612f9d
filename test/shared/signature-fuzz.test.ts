import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verify } from "../../shared/signature.ts";
import { sized } from "../helpers/run/sizes.ts";
import { randomFrom, SEED } from "../helpers/seed.ts";

/**
 * Headers around the right one, judged by an oracle that knows nothing of the parser: it accepts exactly the
 * headers that can be rebuilt, character by character, from what the specification allows.
 */

const HEADERS = sized("FUZZ_HEADERS", { quick: 40_000, all: 200_000 });
const SECRETS = ["whsec_current", "whsec_previous"];
const BODY = Buffer.from('{"id":"evt_0123456789abcdef0123456789abcdef"}');
const NOW = 1_790_000_000;

test(
  `${String(HEADERS)} headers are accepted or refused as the oracle says (seed ${String(SEED)})`,
  { timeout: 120_000 + HEADERS / 20 },
  () => {
    const random = randomFrom(SEED);
    const outcomes = { accepted: 0, refused: 0 };
    for (let index = 0; index < HEADERS; index += 1) {
      const headers = mutate(random);
      const expected = oracle(headers);
      const { ok } = verify({ headers, body: BODY, secrets: SECRETS, nowSeconds: NOW });
      if (ok !== expected)
        throw new Error(
          `verify says ${String(ok)}, the oracle ${String(expected)}: ${JSON.stringify(headers)}`,
        );
      if (ok) outcomes.accepted += 1;
      else outcomes.refused += 1;
    }
    // Neither side may be so rare that the test says nothing about it.
    expect(outcomes.accepted).toBeGreaterThan(HEADERS / 20);
    expect(outcomes.refused).toBeGreaterThan(HEADERS / 20);
  },
);

/** Digests are made once for each t: the fuzz is about the grammar, and hashing would take nine tenths of its time. */
const digests = new Map<string, string>();

function digestOf(t: string, secret: string): string {
  const key = `${secret} ${t}`;
  let digest = digests.get(key);
  if (digest === undefined) {
    digest = createHmac("sha256", secret).update(`${t}.`).update(BODY).digest("hex");
    digests.set(key, digest);
  }
  return digest;
}

/**
 * Whether the header is one that the rules allow, found by walking it character by character: pairs between commas, a
 * key of letters, digits, - and _, then =, then printable ASCII.
 */
function oracle(headers: readonly string[]): boolean {
  if (headers.length !== 1) return false;
  const header = headers[0] ?? "";
  if (header.length === 0 || header.length > 1_024) return false;
  let t: string | undefined;
  const v1: string[] = [];
  let at = 0;
  for (;;) {
    const keyAt = at;
    while (at < header.length && isKeyCharacter(header.charCodeAt(at))) at += 1;
    const key = header.slice(keyAt, at);
    if (key === "" || header[at] !== "=") return false;
    at += 1;
    const valueAt = at;
    while (at < header.length && header[at] !== ",") {
      const code = header.charCodeAt(at);
      if (code <= 0x20 || code >= 0x7f) return false;
      at += 1;
    }
    const value = header.slice(valueAt, at);
    if (key === "t") {
      if (t !== undefined) return false;
      t = value;
    }
    if (key === "v1") v1.push(value);
    if (at === header.length) break;
    at += 1;
  }
  // A number of at most 15 digits that prints as what was written has no sign, no leading zero and nothing behind it.
  if (
    t === undefined ||
    t.length > 15 ||
    String(Number(t)) !== t ||
    Number(t) < 0 ||
    !Number.isInteger(Number(t))
  )
    return false;
  if (v1.length < 1 || v1.length > 8) return false;
  if (v1.some((hex) => hex.length !== 64 || !onlyHexDigits(hex))) return false;
  if (Math.abs(NOW - Number(t)) > 300) return false;
  const signed = t;
  return SECRETS.some((secret) => v1.includes(digestOf(signed, secret)));
}

function onlyHexDigits(hex: string): boolean {
  for (let at = 0; at < hex.length; at += 1) if (!"0123456789abcdef".includes(hex.charAt(at))) return false;
  return true;
}

function isKeyCharacter(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x2d ||
    code === 0x5f
  );
}

const EDGES = [-1_000, -302, -301, -300, -299, -1, 0, 1, 299, 300, 301, 302, 1_000];
const CHARACTERS = 'tv1=,09afAFg \t+-.e\u00e9\0";_'.split("");

function mutate(random: () => number): string[] {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const t = String(NOW + pick(EDGES));
  const secret = pick([...SECRETS, ...SECRETS, "whsec_retired"]);
  const pairs = [`t=${t}`, `v1=${digestOf(t, secret)}`];
  const times = Math.floor(random() * 4);
  for (let change = 0; change < times; change += 1) {
    const where = Math.floor(random() * (pairs.length + 1));
    const kind = Math.floor(random() * 8);
    if (kind === 0) pairs.splice(where, 0, `v0=${t}`);
    else if (kind === 1) pairs.splice(where, 0, `v1=${"0".repeat(64)}`);
    else if (kind === 2)
      pairs.splice(where, 0, pick(["t=1", `t=${t}`, "v1=", "v1", "=", "", "x=", "é=1", "k-_9=~!"]));
    else if (kind === 3) pairs.splice(where, 1);
    else if (kind === 4) pairs.reverse();
    else if (kind === 5) pairs.splice(where, 0, ...Array.from({ length: 8 }, () => `v1=${"f".repeat(64)}`));
    else if (kind === 6) pairs.push(`pad=${"p".repeat(Math.floor(random() * 1_100))}`);
    else if (pairs.length > 0) {
      const at = Math.floor(random() * pairs.length);
      pairs[at] = changeCharacter(pairs[at]!, random, pick);
    }
  }
  const header = pairs.join(",");
  const shape = random();
  if (shape < 0.01) return [];
  if (shape < 0.02) return [header, header];
  if (shape < 0.06) return [changeCharacter(header, random, pick)];
  return [header];
}

function changeCharacter(
  text: string,
  random: () => number,
  pick: <Item>(items: readonly Item[]) => Item,
): string {
  const at = Math.floor(random() * (text.length + 1));
  const length = pick([0, 0, 1, 1, 2]);
  return text.slice(0, at) + (random() < 0.7 ? pick(CHARACTERS) : "") + text.slice(at + length);
}

/** A small generator with a seed, so that every failure can be played again. */
