import {
  DOCUMENTED,
  ENVELOPE,
  isRecord,
  judge,
  parsedOrNothing,
  REDACTED_PHONE,
  REDACTED_TEXT,
  type Fields,
} from "./privacy.ts";

/** Ends of the names of fields whose values are personal or secret, in an event or in what a handler logs. */
const PERSONAL_FIELD =
  /(?:^|_)(?:phone|phones|phone_numbers?|mobile|telephone|fax|e_?mails?|e?mail_address|address|street|(?:customer|caller|contact|guest|recipient|first|last|full|given|family)_name|surname|birthday|date_of_birth|transcript|message_text|notes?|comments?|recording_url|transfer_to|password|passphrase|secret|token|authorization|cookie|api_?key|signature)$/;

/** In an event: fields that hold a person, so that every value inside is personal. */
const PERSON_FIELD = /(?:^|_)(?:customer|caller|contact|guest|recipient|person|patient|client)$/;

const PHONE = /\+[0-9]{6,15}/g;
const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g;

/** Characters of a text that are looked at, and that are kept. */
const LONGEST_INPUT = 20_000;
const LONGEST_OUTPUT = 1_000;

/** Characters beyond which a text of the event counts as a person's own words, whatever its field is called. */
const LONGEST_WORD = 40;
/** Characters in a row of such a text that count as a quotation of it. */
const QUOTATION = 16;
const BLOCK = QUOTATION / 2;

/** Characters of a personal value that is looked for: shorter ones are in many texts by chance. */
const SHORTEST_VALUE = 3;

/** In any field of an event: what may be a phone number, and what is written as names are. */
const NUMBER = /[0-9]{7,}/g;
const NAME = /\p{Lu}(?=[\p{L}'-]*\p{Ll})[\p{L}\p{M}'-]{2,}/gu;

export type Scrubber = {
  /** A text without what is personal in it. */
  text: (text: string) => string;
  /** Whether all that a field of this name holds is personal. */
  hides: (field: string) => boolean;
};

/**
 * Makes a scrubber for what is said while this event is handled. It takes out phone numbers, e-mail addresses, and what the
 * event says of persons: values of fields whose names say so, names and long numbers in all other fields, and quotations of
 * its longer texts. Everything else stays: words in lower case, such as those of a status, are not taken for names.
 */
export function createScrubber(body: string): Scrubber {
  const { texts, values } = personalIn(parsedOrNothing(body));
  const longestFirst = [...values].toSorted((a, b) => b.length - a.length).map(escaped);
  // Without a value it matches nothing.
  const anyValue = new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${longestFirst.join("|") || "(?!)"})(?![\\p{L}\\p{N}])`,
    "gu",
  );
  return {
    hides: (field) => PERSONAL_FIELD.test(inSnakeCase(field)),
    text: (text) =>
      withoutQuotations(text.slice(0, LONGEST_INPUT), texts)
        .replace(PHONE, REDACTED_PHONE)
        .replace(EMAIL, REDACTED_TEXT)
        .replace(anyValue, REDACTED_TEXT)
        .slice(0, LONGEST_OUTPUT),
  };
}

type Personal = { texts: string[]; values: Set<string> };

/** What an event says of persons. The intake takes no event that is nested deeper than 64. */
function personalIn(envelope: unknown): Personal {
  const found: Personal = { texts: [], values: new Set() };
  const visit = (value: unknown, fields: Fields | undefined, isPersonal: boolean): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, undefined, isPersonal);
    else if (isRecord(value)) {
      for (const [field, held] of Object.entries(value)) {
        const { isHarmless, within } = judge(fields, field, held);
        if (isHarmless) continue;
        if (!DOCUMENTED.has(field)) take(field, false, found);
        const name = inSnakeCase(field);
        visit(held, within, isPersonal || PERSONAL_FIELD.test(name) || PERSON_FIELD.test(name));
      }
    } else if (typeof value === "string" || typeof value === "number") take(String(value), isPersonal, found);
  };
  visit(envelope, ENVELOPE, false);
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

/** Replaces whatever is part of `QUOTATION` characters in a row that stand in one of `texts`. Linear in the lengths. */
function withoutQuotations(input: string, texts: readonly string[]): string {
  if (texts.length === 0 || input.length < QUOTATION) return input;
  const blocks = new Set(input.split("").map((_, at) => input.slice(at, at + BLOCK)));
  const quoted = new Uint8Array(input.length);
  let places: Map<string, number[]> | undefined;
  for (const text of texts) {
    // Every quotation has one such block whole within it.
    for (let block = 0; block + BLOCK <= text.length; block += BLOCK) {
      if (!blocks.has(text.slice(block, block + BLOCK))) continue;
      places ??= Map.groupBy(input.split("").keys(), (at) => input.slice(at, at + QUOTATION));
      const last = Math.min(block, text.length - QUOTATION);
      for (let from = Math.max(0, block - BLOCK); from <= last; from += 1) {
        const part = text.slice(from, from + QUOTATION);
        for (const at of places.get(part) ?? []) quoted.fill(1, at, at + QUOTATION);
        // Marked once: in a text that repeats itself there would be no end to it.
        places.delete(part);
      }
    }
  }
  if (!places) return input;
  // A whole quotation becomes one mark.
  return input.replaceAll(/[^]/g, (character, at: number) => {
    if (quoted[at] === 0) return character;
    return at > 0 && quoted[at - 1] === 1 ? "" : REDACTED_TEXT;
  });
}

/** `customerName` and `customer-name` are `customer_name`. */
function inSnakeCase(field: string): string {
  return field.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[\s.-]+/g, "_").toLowerCase();
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
