import type { Envelope } from "../../../shared/events.ts";
import type { Check } from "../check.ts";
import { accepted, checksOf, refused } from "../judge.ts";
import { RULES } from "../rules.ts";

const usual = {
  spec: RULES.signedString,
  hint: "Verify over the raw bytes as they arrived, before any JSON parser, and never over JSON that you wrote again yourself.",
};
const DECODED_HINT =
  "Compute the HMAC over the bytes, not over decoded text: decoding drops a byte order mark and folds invalid bytes into one.";

/** Whether the signature is verified over the body's bytes, whatever JSON they spell. */
export const rawByteChecks: Check[] = checksOf("raw-bytes", usual, {
  "pretty-printed": {
    title: "accepts a body with white space and line breaks",
    run: spelled((event) => JSON.stringify(event, null, 2)),
  },
  crlf: {
    title: "accepts a body with CRLF line ends and tabs",
    run: spelled((event) => JSON.stringify(event, null, "\t").replaceAll("\n", "\r\n")),
  },
  "key-order": {
    title: "accepts a body with its keys in another order",
    run: spelled((event) => JSON.stringify(Object.fromEntries(Object.entries(event).toReversed()))),
  },
  "unicode-escapes": {
    title: "accepts a body with escaped letters",
    run: spelled(named(String.raw`\u0053ofi\u00e9`)),
  },
  "escaped-slashes": {
    title: "accepts a body with escaped slashes",
    run: spelled((event) => JSON.stringify(event).replaceAll("/", String.raw`\/`)),
  },
  "non-ascii": {
    title: "accepts a body with letters beyond ASCII",
    run: spelled(named("Zoë Müller-Łukasz Ωmega 東京")),
  },
  emoji: {
    title: "accepts a body with characters beyond the basic plane, plain and escaped",
    run: spelled(named(String.raw`🍕 👩‍🍳 \ud83c\udf55`)),
  },
  "line-separators": {
    title: "accepts a body with U+2028 and U+2029 in its strings",
    run: spelled(named("\u2028\u2029")),
  },
  numbers: {
    title: "accepts unknown numbers written as 9.40 and 1E-7",
    run: spelled((event) => withMembers(event, '"weight":9.40,"zero":-0.0,"ratio":1E-7')),
  },
  "trailing-newline": {
    title: "accepts a body that ends with a line break",
    run: spelled((event) => `${JSON.stringify(event)}\n`),
  },
  "leading-space": {
    title: "accepts a body that begins with white space",
    run: spelled((event) => `\r\n  ${JSON.stringify(event)}`),
  },
  // The service has no reason to write the next five.
  nul: {
    title: "accepts a body with U+0000 in a string",
    level: "advice",
    run: spelled(named(String.raw`\u0000`)),
  },
  "big-numbers": {
    title: "accepts numbers beyond 2^53 and beyond a double",
    level: "advice",
    run: spelled((event) => withMembers(event, '"big":9007199254740993,"huge":1e400')),
  },
  "integer-as-float": {
    title: "accepts an integer written with a fraction of zero",
    level: "advice",
    run: spelled((event) =>
      JSON.stringify(event).replace(`"created":${event.created}`, `"created":${event.created}.0`),
    ),
  },
  "repeated-key": {
    title: "accepts a body in which a key occurs twice",
    level: "advice",
    run: spelled((event) => withMembers(event, '"weight":1,"weight":2')),
  },
  "prototype-key": {
    title: "accepts a body with the keys of JavaScript's prototypes",
    level: "advice",
    run: spelled((event) => withMembers(event, '"__proto__":{"a":1},"constructor":{"b":2}')),
  },
  reformatted: {
    title: "refuses a body that was reformatted after signing",
    run: altered(JSON.stringify, (event) => JSON.stringify(event, null, 1)),
  },
  "re-escaped": {
    title: "refuses a body that was escaped differently after signing",
    run: altered(named("Sofié"), named(String.raw`Sofi\u00e9`)),
  },
  "newline-removed": {
    title: "refuses a body whose last line break was cut off",
    run: altered((event) => `${JSON.stringify(event)}\n`, JSON.stringify),
  },
  "newline-added": {
    title: "refuses a body to which a line break was added",
    run: altered(JSON.stringify, (event) => `${JSON.stringify(event)}\n`),
  },
  "byte-order-mark": {
    title: "refuses a body to which a byte order mark was added",
    hint: DECODED_HINT,
    run: altered(JSON.stringify, (event) => `\ufeff${JSON.stringify(event)}`),
  },
  "invalid-bytes": {
    title: "refuses a body in which one invalid byte was put for another",
    hint: DECODED_HINT,
    run: altered(withByte(0xff), withByte(0xfe)),
  },
  "replacement-character": {
    title: "refuses an invalid byte in place of U+FFFD",
    hint: DECODED_HINT,
    run: altered(named("\ufffd"), withByte(0xff)),
  },
});

type Spell = (event: Envelope) => string | Buffer;

/** An honest body has to be accepted, however its JSON is written. */
function spelled(spell: Spell): Check["run"] {
  return accepted(({ deliver, event }) => deliver(Buffer.from(spell(withName(event())))));
}

/** A body has to be refused whose bytes are not those that were signed. */
function altered(signed: Spell, sent: Spell): Check["run"] {
  return refused(({ deliver, event }) => {
    const envelope = withName(event());
    return deliver(Buffer.from(sent(envelope)), {
      signedBody: Buffer.from(signed(envelope)),
      forged: true,
    });
  });
}

/** A field for text in the object of each type; those of orders and bookings are nowhere published. */
const TEXT_FIELDS: Record<string, string> = {
  "call.completed": "transcript",
  "call.transferred": "transcript",
  "voicemail.created": "message_text",
};

/** The event with a name in its text, to be spelled in other ways. */
function withName(event: Envelope): Envelope {
  const field = TEXT_FIELDS[event.type] ?? "note";
  const object = { ...event.data.object, [field]: "Agent: Open 24/7, this is Sofia." };
  return { ...event, data: { object } };
}

/** The event's body with something else in place of the name, written as it is given. */
function named(name: string): Spell {
  return (event) => JSON.stringify(event).replaceAll("Sofia", name);
}

/** The event's body with more members in its object, written as they are given. */
function withMembers(event: Envelope, members: string): string {
  return JSON.stringify(event).replace('"data":{"object":{', () => `"data":{"object":{${members},`);
}

/** The event's body with one raw byte in place of the name. */
function withByte(byte: number): Spell {
  return (event) => {
    const [before = "", after = ""] = JSON.stringify(event).split("Sofia", 2);
    return Buffer.concat([Buffer.from(before), Buffer.from([byte]), Buffer.from(after)]);
  };
}
