import type { Envelope } from "../../../shared/events.ts";
import type { Check, Runs } from "../check.ts";
import { allAcknowledged, refused } from "../judgement.ts";
import { guessRecipe } from "../guess.ts";

/** Whether the signature is verified over the body's bytes, for any JSON. */
export const rawByteRuns: Runs = {
  "raw-bytes.pretty-printed": spelled((event) => JSON.stringify(event, null, 2)),
  "raw-bytes.crlf": spelled((event) => JSON.stringify(event, null, "\t").replaceAll("\n", "\r\n")),
  "raw-bytes.key-order": spelled((event) =>
    JSON.stringify(Object.fromEntries(Object.entries(event).toReversed())),
  ),
  "raw-bytes.unicode-escapes": spelled(named(String.raw`\u0053ofi\u00e9`)),
  "raw-bytes.escaped-slashes": spelled((event) => JSON.stringify(event).replaceAll("/", String.raw`\/`)),
  "raw-bytes.non-ascii": spelled(named("Zoë Müller-Łukasz Ωmega 東京")),
  "raw-bytes.emoji": spelled(named(String.raw`🍕 👩‍🍳 \ud83c\udf55`)),
  "raw-bytes.line-separators": spelled(named("\u2028\u2029")),
  "raw-bytes.numbers": spelled((event) => withMembers(event, '"weight":9.40,"zero":-0.0,"ratio":1E-7')),
  "raw-bytes.trailing-newline": spelled((event) => `${JSON.stringify(event)}\n`),
  "raw-bytes.leading-space": spelled((event) => `\r\n  ${JSON.stringify(event)}`),
  // The service never writes the next five.
  "raw-bytes.nul": spelled(named(String.raw`\u0000`)),
  "raw-bytes.big-numbers": spelled((event) => withMembers(event, '"big":9007199254740993,"huge":1e400')),
  "raw-bytes.integer-as-float": spelled((event) =>
    JSON.stringify(event).replace(`"created":${event.created}`, `"created":${event.created}.0`),
  ),
  "raw-bytes.repeated-key": spelled((event) => withMembers(event, '"weight":1,"weight":2')),
  "raw-bytes.prototype-key": spelled((event) =>
    withMembers(event, '"__proto__":{"a":1},"constructor":{"b":2}'),
  ),
  "raw-bytes.reformatted": altered(JSON.stringify, (event) => JSON.stringify(event, null, 1)),
  "raw-bytes.re-escaped": altered(named("Sofié"), named(String.raw`Sofi\u00e9`)),
  "raw-bytes.newline-removed": altered((event) => `${JSON.stringify(event)}\n`, JSON.stringify),
  "raw-bytes.newline-added": altered(JSON.stringify, (event) => `${JSON.stringify(event)}\n`),
  "raw-bytes.byte-order-mark": altered(JSON.stringify, (event) => `\ufeff${JSON.stringify(event)}`),
  "raw-bytes.invalid-bytes": altered(withByte(0xff), withByte(0xfe)),
  "raw-bytes.replacement-character": altered(named("\ufffd"), withByte(0xff)),
};

type Spell = (event: Envelope) => string | Buffer;

/** An honest body has to be accepted, however its JSON is written. */
function spelled(spell: Spell): Check["run"] {
  return async (context) => {
    const body = (): Buffer => Buffer.from(spell(withName(context.event())));
    const verdict = allAcknowledged([await context.deliver(body())]);
    if (verdict.outcome !== "failed" || verdict.cause !== "signature_refused") return verdict;
    const guessed = await guessRecipe(context, body);
    return guessed === undefined ? verdict : { ...verdict, problem: `${verdict.problem} ${guessed}` };
  };
}

/** A body must be refused if its bytes are not the signed ones. */
function altered(signed: Spell, sent: Spell): Check["run"] {
  return refused(({ deliver, event }) => {
    const envelope = withName(event());
    return deliver(Buffer.from(sent(envelope)), { signedBody: Buffer.from(signed(envelope)), forged: true });
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
