import { hash } from "node:crypto";

export type Random = ReturnType<typeof createRandom>;

/** The same seed and purpose give the same stream, independent of other purposes. */
export function createRandom(seed: number, ...purpose: (string | number)[]) {
  const next = sfc32(hash("sha256", JSON.stringify([seed, ...purpose]), "buffer"));

  function int(minimum: number, maximum: number): number {
    return minimum + Math.floor(next() * (maximum - minimum + 1));
  }

  function weighted<Item>(entries: readonly (readonly [Item, number])[]): Item {
    let rest = next() * entries.reduce((total, [, weight]) => total + weight, 0);
    for (const [item, weight] of entries) {
      rest -= weight;
      if (rest < 0) return item;
    }
    return at(entries, entries.length - 1)[0];
  }

  return {
    /** A number in [0, 1). */
    next,
    /** A whole number in [minimum, maximum]. */
    int,
    chance: (probability: number): boolean => next() < probability,
    pick: <Item>(items: readonly Item[]): Item => at(items, int(0, items.length - 1)),
    /** One of the words, each as likely as its weight says. */
    among<Word extends string>(weights: Readonly<Partial<Record<Word, number>>>): Word {
      const entries: [Word, number][] = [];
      for (const word in weights) entries.push([word, weights[word] ?? 0]);
      return weighted(entries);
    },
    weighted,
  };
}

/** A number in [0, 1) for each 32-bit index, in any order; the same for the same seed and purpose. */
export function createNoise(seed: number, ...purpose: (string | number)[]): (index: number) => number {
  const key = hash("sha256", JSON.stringify(["noise", seed, ...purpose]), "buffer");
  const [first, second] = [key.readInt32LE(0), key.readInt32LE(4)];
  return (index) => (mix32(mix32(index ^ first) + second) >>> 0) / 2 ** 32;
}

/** A bijection of 32-bit integers in which every bit of the result depends on every bit of `value` (MurmurHash3). */
export function mix32(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** `prefix` and `hexLength` (up to 64) hexadecimal characters that depend only on the arguments. */
export function stableId(
  prefix: string,
  hexLength: number,
  { seed, purpose, index }: { seed: number; purpose: string; index: number },
): string {
  return prefix + hash("sha256", `${seed}/${index}/${prefix}/${purpose}`, "hex").slice(0, hexLength);
}

/** sfc32, the small fast counting generator of PractRand: 128 bits of state, more than enough for a world. */
function sfc32(state: Buffer): () => number {
  let a = state.readInt32LE(0);
  let b = state.readInt32LE(4);
  let c = state.readInt32LE(8);
  let counter = 1;

  function next(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  for (let round = 0; round < 12; round += 1) next();
  return next;
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError("A choice needs at least one item.");
  return item;
}
