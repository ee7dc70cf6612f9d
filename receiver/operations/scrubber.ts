import {
  DOCUMENTED,
  isHarmless,
  isRecord,
  placeWithin,
  REDACTED_PHONE,
  REDACTED_TEXT,
  type Place,
} from "./privacy.ts";

/** Fields that hold something personal or secret whatever stands around them, by the last words of their names. */
const PERSONAL_FIELD =
  /(?:^|_)(?:phone|phones|phone_numbers?|mobile|telephone|fax|e_?mails?|e?mail_address|address|street|(?:customer|caller|contact|guest|recipient|first|last|full|given|family)_name|surname|birthday|date_of_birth|transcript|message_text|notes?|comments?|recording_url|transfer_to|password|passphrase|secret|token|authorization|cookie|api_?key|signature)$/;

/** Of an event: what holds a person, so that everything inside is personal. */
const PERSON_FIELD = /(?:^|_)(?:customer|caller|contact|guest|recipient|person|patient|client)$/;

const PHONE = /\+[0-9]{6,15}/g;
const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g;

/** The longest text that is scrubbed, and the longest that is left of it. */
const LONGEST_INPUT = 20_000;
const LONGEST_OUTPUT = 1_000;

/** A text of the event that is longer is somebody's own words, whatever its field is called. */
const LONGEST_WORD = 40;
/** So many characters in a row of such a text are a quotation of it. */
const QUOTATION = 16;
const BLOCK = QUOTATION / 2;

/** Shorter values stand in many a text by chance. */
const SHORTEST_VALUE = 3;

/** In whatever field of an event: what may be a phone number, and what is written as names are. */
const NUMBER = /[0-9]{7,}/g;
const NAME = /\p{Lu}(?=[\p{L}'-]*\p{Ll})[\p{L}\p{M}'-]{2,}/gu;

export type Scrubber = {
  /** A text without what is personal in it. */
  text: (text: string) => string;
  /** Whether all that a field of this name holds is personal. */
  hides: (field: string) => boolean;
};

/** `text` without what it repeats of the event that `body` holds: safe to log and to store. */
export function scrub(text: string, body: string): string {
  return createScrubber(body).text(text);
}

/**
 * Answers what takes out of texts what is personal: phone numbers, e-mail addresses, and what the event says of persons:
 * values of fields whose names say so, names and long numbers in all others, and quotations of its longer texts.
 * Everything else stays as it is: words in lower case, such as those of a status, are everybody's.
 */
export function createScrubber(body: string): Scrubber {
  const { texts, values } = personalIn(parseOrNothing(body));
  const anyValue =
    values.size === 0
      ? undefined
      : new RegExp(
          `(?<![\\p{L}\\p{N}])(?:${[...values]
            .toSorted((a, b) => b.length - a.length)
            .map(escaped)
            .join("|")})(?![\\p{L}\\p{N}])`,
          "gu",
        );
  return {
    hides: (field) => PERSONAL_FIELD.test(inSnakeCase(field)),
    text: (text) => {
      let shown = withoutQuotations(text.slice(0, LONGEST_INPUT), texts);
      shown = shown.replace(PHONE, REDACTED_PHONE).replace(EMAIL, REDACTED_TEXT);
      if (anyValue) shown = shown.replace(anyValue, REDACTED_TEXT);
      return shown.slice(0, LONGEST_OUTPUT);
    },
  };
}

type Personal = { texts: string[]; values: Set<string> };

/** What an event says of persons. It is nested 64 deep at the most. */
function personalIn(envelope: unknown): Personal {
  const found: Personal = { texts: [], values: new Set() };
  /** `place` is that of the fields of `value`, should it have any. */
  const visit = (value: unknown, place: Place, isPersonal: boolean): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, "elsewhere", isPersonal);
    else if (isRecord(value)) {
      for (const [field, held] of Object.entries(value)) {
        if (isHarmless(place, field, held)) continue;
        if (!DOCUMENTED.has(field)) take(field, false, found);
        const name = inSnakeCase(field);
        visit(
          held,
          placeWithin(place, field),
          isPersonal || PERSONAL_FIELD.test(name) || PERSON_FIELD.test(name),
        );
      }
    } else if (typeof value === "string" || typeof value === "number") take(String(value), isPersonal, found);
  };
  visit(envelope, "envelope", false);
  return found;
}

function take(value: string, isPersonal: boolean, { texts, values }: Personal): void {
  const inJson = JSON.stringify(value).slice(1, -1);
  if (value.length > LONGEST_WORD) {
    texts.push(value);
    if (inJson !== value) texts.push(inJson);
    return;
  }
  if (isPersonal && value.length >= SHORTEST_VALUE) values.add(value).add(inJson);
  for (const [digits] of value.matchAll(NUMBER)) values.add(digits);
  for (const [name] of value.matchAll(NAME)) values.add(name).add(name.toUpperCase());
}

/** Replaces what stands in one of `texts` for at least `QUOTATION` characters in a row; the work grows with the lengths. */
function withoutQuotations(input: string, texts: readonly string[]): string {
  if (texts.length === 0 || input.length < QUOTATION) return input;
  const places = new Map<string, number[]>();
  for (let at = 0; at + BLOCK <= input.length; at += 1) {
    const block = input.slice(at, at + BLOCK);
    const known = places.get(block);
    if (known) known.push(at);
    else places.set(block, [at]);
  }
  const marked = new Uint8Array(input.length);
  for (const text of texts) {
    // Of every quotation one such block lies whole within it.
    for (let block = 0; block + BLOCK <= text.length; block += BLOCK)
      for (const at of places.get(text.slice(block, block + BLOCK)) ?? [])
        if (marked[at] === 0) markAround({ input, text, at, block, marked });
  }
  return withoutMarked(input, marked);
}

function markAround(options: {
  input: string;
  text: string;
  at: number;
  block: number;
  marked: Uint8Array;
}): void {
  const { input, text, at, block, marked } = options;
  let before = 0;
  while (at - before > 0 && block - before > 0 && input[at - before - 1] === text[block - before - 1])
    before += 1;
  let length = BLOCK;
  while (at + length < input.length && input[at + length] === text[block + length]) length += 1;
  if (before + length >= QUOTATION) marked.fill(1, at - before, at + length);
}

function withoutMarked(input: string, marked: Uint8Array): string {
  let output = "";
  for (let at = 0; at < input.length; at += 1) {
    if (marked[at] === 0) output += input[at] ?? "";
    else if (at === 0 || marked[at - 1] === 0) output += REDACTED_TEXT;
  }
  return output;
}

/** `customerName` and `customer-name` are `customer_name`. */
function inSnakeCase(field: string): string {
  return field.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[\s.-]+/g, "_").toLowerCase();
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

function parseOrNothing(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
