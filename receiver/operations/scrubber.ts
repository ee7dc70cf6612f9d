import {
  DOCUMENTED,
  isHarmless,
  isRecord,
  placeWithin,
  REDACTED_PHONE,
  REDACTED_TEXT,
  type Place,
} from "./privacy.ts";

const PHONE = /\+[0-9]{6,15}/g;

/** The longest text that is scrubbed, and the longest that is left of it. */
const LONGEST_INPUT = 20_000;
const LONGEST_OUTPUT = 1_000;

/** So many characters in a row that also stand in the event are a quotation. */
const QUOTATION = 8;

/** Most of what handlers say is short. */
const SHORT_INPUT = 64;

/** Texts up to this long are names and the like: each of their words is looked for. */
const SHORT_TEXT = 40;

/** Takes out of texts what they repeat of one event, and hides names of fields that are a value of it. */
export type Scrubber = { text: (text: string) => string; name: (name: string) => string };

/** `text` without phone numbers and without anything of the event that `body` holds: safe to log and to store. */
export function scrub(text: string, body: string): string {
  return createScrubber(body).text(text);
}

/**
 * Answers what takes out of a text whatever it repeats of the event: phone numbers, quotations of eight characters
 * and more wherever they begin and end, also as JSON writes them, and single words and numbers. What is harmless stays.
 */
export function createScrubber(body: string): Scrubber {
  const { texts, words, values, harmless } = contentsOf(parseOrNothing(body));

  return { text: scrubText, name: (name) => (values.has(name) ? REDACTED_TEXT : name) };

  function scrubText(text: string): string {
    const input = text.slice(0, LONGEST_INPUT);
    const marked = new Uint8Array(input.length);
    markQuotations(input, texts, marked);
    for (const { 0: word, index } of input.matchAll(WORD)) {
      if (words.has(word.toLowerCase())) marked.fill(1, index, index + word.length);
    }
    for (const value of harmless) {
      for (let at = input.indexOf(value); at !== -1; at = input.indexOf(value, at + value.length))
        marked.fill(0, at, at + value.length);
    }
    return withoutMarked(input, marked).replace(PHONE, REDACTED_PHONE).slice(0, LONGEST_OUTPUT);
  }
}

const WORD = /[\p{L}\p{N}_]+/gu;

/** Of a long text its numbers and names. Its other words are everybody's, and quotations of it are found anyway. */
const TELLING_WORD = /(?<![\p{L}\p{N}])[0-9]{3,}(?![\p{L}\p{N}])|(?<=\p{Ll},? )\p{Lu}[\p{L}\p{N}]+/gu;

type Contents = { texts: string; words: Set<string>; values: Set<string>; harmless: Set<string> };

/** Everything that an event says. It is nested 64 deep at the most. */
function contentsOf(envelope: unknown): Contents {
  const texts: string[] = [];
  const words = new Set<string>();
  const values = new Set<string>();
  const harmless = new Set<string>();

  /** `place` is that of the fields of `value`, should it have any. */
  const visit = (value: unknown, place: Place): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, "elsewhere");
    else if (isRecord(value)) {
      for (const [name, held] of Object.entries(value)) {
        if (!DOCUMENTED.has(name)) take(name);
        if (isHarmless(place, name, held)) harmless.add(String(held));
        // The words of a type are those of whoever wrote its handler.
        else if (place === "envelope" && name === "type") takeWhole(String(held));
        else visit(held, placeWithin(place, name));
      }
    } else if (typeof value === "string" || typeof value === "number") take(String(value));
  };
  const takeWhole = (text: string): void => {
    texts.push(text);
    values.add(text);
    const escaped = JSON.stringify(text).slice(1, -1);
    if (escaped !== text) texts.push(escaped);
  };
  const take = (text: string): void => {
    takeWhole(text);
    const telling = text.length <= SHORT_TEXT ? WORD : TELLING_WORD;
    for (const [word] of text.matchAll(telling)) {
      if (word.length > 1 && !DOCUMENTED.has(word.toLowerCase())) words.add(word.toLowerCase());
    }
  };
  visit(envelope, "envelope");
  // No quotation reaches from one text into the next.
  return { texts: texts.join("\u0000"), words, values, harmless: withoutShort(harmless) };
}

/** What is as short as `en` stands in any text by chance, and must not save a part of a quotation. */
function withoutShort(values: ReadonlySet<string>): Set<string> {
  return new Set([...values].filter((value) => value.length >= QUOTATION));
}

/** Marks every character of `input` that belongs to a quotation. */
function markQuotations(input: string, texts: string, marked: Uint8Array): void {
  const mark = (at: number): unknown => marked.fill(1, at, at + QUOTATION);
  if (input.length <= SHORT_INPUT) {
    for (let at = 0; at + QUOTATION <= input.length; at += 1) {
      if (texts.includes(input.slice(at, at + QUOTATION))) mark(at);
    }
    return;
  }
  // The other way round, so that the work grows with the lengths and not with their product.
  const places = new Map<string, number[]>();
  for (let at = 0; at + QUOTATION <= input.length; at += 1) {
    const piece = input.slice(at, at + QUOTATION);
    const known = places.get(piece);
    if (known) known.push(at);
    else places.set(piece, [at]);
  }
  for (let at = 0; at + QUOTATION <= texts.length && places.size > 0; at += 1) {
    const piece = texts.slice(at, at + QUOTATION);
    places.get(piece)?.forEach(mark);
    // Once is enough, however often the event says it.
    places.delete(piece);
  }
}

function withoutMarked(input: string, marked: Uint8Array): string {
  let output = "";
  for (let at = 0; at < input.length; at += 1) {
    if (marked[at] === 0) output += input[at] ?? "";
    else if (at === 0 || marked[at - 1] === 0) output += REDACTED_TEXT;
  }
  return output;
}

function parseOrNothing(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
