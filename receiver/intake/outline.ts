/** Members that are read, by name, of letters: `true` as they are, others for what is read within them. */
export type Wanted = { readonly [name: string]: Wanted | true };

const NOTHING: Wanted = {};

/** JSON that is written only when it is known that nothing of the same name comes behind it. */
type Held = () => string;

const ZERO_HELD: Held = () => "0";
const EMPTY_ARRAY: Held = () => "[]";
const EMPTY_OBJECT: Held = () => "{}";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const ZERO = 0x30;
const NINE = 0x39;
const SPACE = 0x20;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** What may stand behind a backslash, and the digits behind `\u`. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrtu'));
const HEX = new Set(Buffer.from("0123456789abcdefABCDEF"));
const UNICODE = 0x75;
const UNICODE_DIGITS = 4;

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/;

/**
 * Answers JSON, in UTF-8, with nothing in it but what is `wanted`; everything else is looked at and not built, which for
 * a megabyte of keys would take longer than others may be kept waiting. Undefined when it isn't JSON, or is nested
 * deeper than `levels`.
 */
export function outline(json: Buffer, wanted: Wanted, levels: number): string | undefined {
  let at = 0;
  /** Of the text that was just passed, without its quotes and with each escape counted as one. */
  let textLength = 0;
  const outlined = value(wanted, levels);
  space();
  return at === json.length ? outlined?.() : undefined;

  function value(read: Wanted | true, levelsLeft: number): Held | undefined {
    space();
    const from = at;
    const first = json[at];
    if (first === OPENING_BRACE)
      return levelsLeft === 0 ? undefined : members(read === true ? NOTHING : read, levelsLeft - 1);
    if (first === OPENING_BRACKET) return levelsLeft === 0 ? undefined : items(levelsLeft - 1);
    if (!(first === QUOTE ? text() : scalar())) return undefined;
    if (read !== true) return ZERO_HELD;
    const end = at;
    return () => json.toString("utf8", from, end);
  }

  function members(read: Wanted, levelsLeft: number): Held | undefined {
    const names = read === NOTHING ? [] : Object.keys(read);
    // By name: of two members the last one counts, as for JSON.parse.
    const kept: Record<string, Held> = {};
    at += 1;
    space();
    if (json[at] === CLOSING_BRACE) {
      at += 1;
      return EMPTY_OBJECT;
    }
    for (;;) {
      space();
      const from = at;
      if (json[at] !== QUOTE || !text()) return undefined;
      const name = names.length === 0 ? undefined : nameAt(from, names);
      space();
      if (json[at] !== COLON) return undefined;
      at += 1;
      const held = value((name === undefined ? undefined : read[name]) ?? NOTHING, levelsLeft);
      if (held === undefined) return undefined;
      if (name !== undefined) kept[name] = held;
      if (isLast(CLOSING_BRACE)) return names.length === 0 ? EMPTY_OBJECT : () => written(kept);
      if (json[at - 1] !== COMMA) return undefined;
    }
  }

  function items(levelsLeft: number): Held | undefined {
    at += 1;
    space();
    if (json[at] === CLOSING_BRACKET) {
      at += 1;
      return EMPTY_ARRAY;
    }
    for (;;) {
      if (value(NOTHING, levelsLeft) === undefined) return undefined;
      if (isLast(CLOSING_BRACKET)) return EMPTY_ARRAY;
      if (json[at - 1] !== COMMA) return undefined;
    }
  }

  /** Takes what stands behind a member or an item. */
  function isLast(closing: number): boolean {
    space();
    at += 1;
    return json[at - 1] === closing;
  }

  /** The wanted name that was just passed. Compared where it stands: there may be a hundred thousand of them. */
  function nameAt(from: number, names: readonly string[]): string | undefined {
    return names.find((name) => name.length === textLength && isNamed(from + 1, name));
  }

  /** Whether a text is this name, which has letters only: none is written in another way than as itself or by `\u`. */
  function isNamed(from: number, name: string): boolean {
    let place = from;
    for (let letter = 0; letter < name.length; letter += 1) {
      let code = json[place];
      place += 1;
      if (code === BACKSLASH) {
        if (json[place] !== UNICODE) return false;
        code = 0;
        for (const end = place + UNICODE_DIGITS; place < end;) code = code * 16 + digitOf(json[(place += 1)]);
        place += 1;
      }
      if (code !== name.charCodeAt(letter)) return false;
    }
    return true;
  }

  function text(): boolean {
    textLength = 0;
    for (at += 1; at < json.length; at += 1) {
      const byte = json[at] ?? 0;
      if (byte === QUOTE) {
        at += 1;
        return true;
      }
      if (byte < SPACE || (byte === BACKSLASH && !escape())) return false;
      textLength += 1;
    }
    return false;
  }

  /** Up to its last byte. */
  function escape(): boolean {
    at += 1;
    if (!ESCAPES.has(json[at] ?? 0)) return false;
    if (json[at] !== UNICODE) return true;
    for (const end = at + UNICODE_DIGITS; at < end;) if (!HEX.has(json[(at += 1)] ?? 0)) return false;
    return true;
  }

  function scalar(): boolean {
    const from = at;
    while (at < json.length && isOfScalar(json[at] ?? 0)) at += 1;
    // Most numbers have one digit.
    const isDigit = at === from + 1 && (json[from] ?? 0) >= ZERO && (json[from] ?? 0) <= NINE;
    return isDigit || SCALAR.test(json.toString("latin1", from, at));
  }

  function space(): void {
    for (
      let byte = json[at];
      byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
      byte = json[at]
    )
      at += 1;
  }
}

function written(members: Record<string, Held>): string {
  return `{${Object.entries(members)
    .map(([name, held]) => `"${name}":${held()}`)
    .join(",")}}`;
}

/** What a digit of an escape stands for. */
function digitOf(byte = ZERO): number {
  return byte <= NINE ? byte - ZERO : (byte | 0x20) - 0x57;
}

function isOfScalar(byte: number): boolean {
  return byte > SPACE && byte !== COMMA && byte !== CLOSING_BRACKET && byte !== CLOSING_BRACE;
}
