import type { Envelope } from "../../../shared/events.ts";
import type { Check, Level } from "../check.ts";
import { accepts, refuses } from "../judge.ts";
import { RULES } from "../rules.ts";

const RAW_HINT =
  "Verify over the raw bytes as they arrived, before any JSON parser, and never over JSON that you wrote again yourself.";
const DECODED_HINT =
  "Compute the HMAC over the bytes, not over decoded text: decoding drops a byte order mark and folds invalid bytes into one.";

/** Whether the signature is verified over the body's bytes, whatever JSON they spell. */
export const rawByteChecks: Check[] = [
  spelled("pretty-printed", "accepts a body with white space and line breaks", (event) =>
    JSON.stringify(event, null, 2),
  ),
  spelled("crlf", "accepts a body with CRLF line ends and tabs", (event) =>
    JSON.stringify(event, null, "\t").replaceAll("\n", "\r\n"),
  ),
  spelled("key-order", "accepts a body with its keys in another order", (event) =>
    JSON.stringify(Object.fromEntries(Object.entries(event).toReversed())),
  ),
  spelled("unicode-escapes", "accepts a body with escaped letters", (event) =>
    JSON.stringify(event).replaceAll("Sofia", String.raw`\u0053ofi\u00e9`),
  ),
  spelled("escaped-slashes", "accepts a body with escaped slashes", (event) =>
    JSON.stringify(event).replaceAll("/", String.raw`\/`),
  ),
  spelled("non-ascii", "accepts a body with letters beyond ASCII", (event) =>
    JSON.stringify(event).replaceAll("Sofia", "Zoë Müller-Łukasz Ωmega 東京"),
  ),
  spelled("emoji", "accepts a body with characters beyond the basic plane, plain and escaped", (event) =>
    JSON.stringify(event).replaceAll("Sofia", String.raw`🍕 👩‍🍳 \ud83c\udf55`),
  ),
  spelled("line-separators", "accepts a body with U+2028 and U+2029 in its strings", (event) =>
    JSON.stringify(event).replaceAll("Sofia", "\u2028\u2029"),
  ),
  spelled("numbers", "accepts unknown numbers written as 9.40 and 1E-7", (event) =>
    withMembers(event, '"weight":9.40,"zero":-0.0,"ratio":1E-7'),
  ),
  spelled(
    "trailing-newline",
    "accepts a body that ends with a line break",
    (event) => `${JSON.stringify(event)}\n`,
  ),
  spelled(
    "leading-space",
    "accepts a body that begins with white space",
    (event) => `\r\n  ${JSON.stringify(event)}`,
  ),
  oddity("nul", "accepts a body with U+0000 in a string", (event) =>
    JSON.stringify(event).replaceAll("Sofia", String.raw`\u0000`),
  ),
  oddity("big-numbers", "accepts numbers beyond 2^53 and beyond a double", (event) =>
    withMembers(event, '"big":9007199254740993,"huge":1e400'),
  ),
  oddity("integer-as-float", "accepts an integer written with a fraction of zero", (event) =>
    JSON.stringify(event).replace(`"created":${event.created}`, `"created":${event.created}.0`),
  ),
  oddity("repeated-key", "accepts a body in which a key occurs twice", (event) =>
    withMembers(event, '"weight":1,"weight":2'),
  ),
  oddity("prototype-key", "accepts a body with the keys of JavaScript's prototypes", (event) =>
    withMembers(event, '"__proto__":{"a":1},"constructor":{"b":2}'),
  ),
  altered("reformatted", "refuses a body that was reformatted after signing", RAW_HINT, (event) => ({
    signed: JSON.stringify(event),
    sent: JSON.stringify(event, null, 1),
  })),
  altered("re-escaped", "refuses a body that was escaped differently after signing", RAW_HINT, (event) => ({
    signed: JSON.stringify(event).replaceAll("Sofia", "Sofié"),
    sent: JSON.stringify(event).replaceAll("Sofia", String.raw`Sofi\u00e9`),
  })),
  altered("newline-removed", "refuses a body whose last line break was cut off", RAW_HINT, (event) => ({
    signed: `${JSON.stringify(event)}\n`,
    sent: JSON.stringify(event),
  })),
  altered("newline-added", "refuses a body to which a line break was added", RAW_HINT, (event) => ({
    signed: JSON.stringify(event),
    sent: `${JSON.stringify(event)}\n`,
  })),
  altered(
    "byte-order-mark",
    "refuses a body to which a byte order mark was added",
    DECODED_HINT,
    (event) => ({
      signed: JSON.stringify(event),
      sent: `\ufeff${JSON.stringify(event)}`,
    }),
  ),
  altered(
    "invalid-bytes",
    "refuses a body in which one invalid byte was put for another",
    DECODED_HINT,
    (event) => ({
      signed: withByte(event, 0xff),
      sent: withByte(event, 0xfe),
    }),
  ),
  altered("replacement-character", "refuses an invalid byte in place of U+FFFD", DECODED_HINT, (event) => ({
    signed: JSON.stringify(event).replaceAll("Sofia", "\ufffd"),
    sent: withByte(event, 0xff),
  })),
];

/** A check that an honest body is accepted, however its JSON is written. */
function spelled(
  name: string,
  title: string,
  spell: (event: Envelope) => string,
  level: Level = "must",
): Check {
  return accepts(
    "raw-bytes",
    { id: `raw-bytes.${name}`, title, level, spec: RULES.signedString, hint: RAW_HINT },
    ({ deliver, event }) => deliver(Buffer.from(spell(withName(event())))),
  );
}

/** The same for JSON that the service has no reason to write. */
function oddity(name: string, title: string, spell: (event: Envelope) => string): Check {
  return spelled(name, title, spell, "advice");
}

/** A check that a body is refused whose bytes are not those that were signed. */
function altered(
  name: string,
  title: string,
  hint: string,
  alter: (event: Envelope) => { signed: string | Buffer; sent: string | Buffer },
): Check {
  return refuses(
    "raw-bytes",
    { id: `raw-bytes.${name}`, title, level: "must", spec: RULES.signedString, hint },
    ({ deliver, event }) => {
      const { signed, sent } = alter(withName(event()));
      return deliver(Buffer.from(sent), { signedBody: Buffer.from(signed), forged: true });
    },
  );
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
  return {
    ...event,
    data: { object: { ...event.data.object, [field]: "Agent: Open 24/7, this is Sofia." } },
  };
}

/** The event's body with more members in its object, written as they are given. */
function withMembers(event: Envelope, members: string): string {
  return JSON.stringify(event).replace('"data":{"object":{', () => `"data":{"object":{${members},`);
}

/** The event's body with one raw byte in place of a word. */
function withByte(event: Envelope, byte: number): Buffer {
  const [before = "", after = ""] = JSON.stringify(event).split("Sofia", 2);
  return Buffer.concat([Buffer.from(before), Buffer.from([byte]), Buffer.from(after)]);
}
