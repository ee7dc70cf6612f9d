import type { Departure } from "./deviation.ts";
import { JSON_VARIANTS } from "./json-variants.ts";

const RAW_BODY =
  "Take the raw bytes of the request before anything parses them (express.raw(), request.get_data(), php://input, io.ReadAll).";
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** What the known mistakes make of the body; each different from it and from all before it. */
export function bodyVariants(body: Buffer): Departure[] {
  const variants: Departure[] = [];
  const known = [body];
  const add = (id: string, title: string, bytes: Buffer | string | undefined, fix = RAW_BODY) => {
    if (bytes === undefined) return;
    const buffer = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    if (known.some((other) => other.equals(buffer))) return;
    known.push(buffer);
    variants.push({ deviation: { id, title, fix }, change: { body: () => buffer } });
  };
  const text = body.toString("utf8");

  // The small changes first: writing the JSON again undoes some of them too, but is not what happened.
  addByteVariants(add, body, text);
  addTransportVariants(add, body, text);
  const parsed = parse(text);
  addNestingVariants(add, text, parsed?.value);
  if (parsed !== undefined) addJsonVariants(add, text);
  return variants;
}

/** The whole body, its data and the object in that, each written again in every common way. */
function addJsonVariants(add: Add, text: string): void {
  const json = text.replace(/^\ufeff/, "");
  const again = JSON_VARIANTS.map(({ id, how, read, write }) => ({ id, how, value: read(json), write }));
  for (const { id, how, value, write } of again)
    add(`body-reserialized-${id}`, `The JSON was parsed and written again, ${how}.`, write(value));
  const part = "Only a part of the body was hashed";
  for (const { how, value, write } of again) {
    const data = member(value, "data");
    const object = member(data, "object");
    if (data !== undefined) add("body-data", `${part}: its data, written ${how}.`, write(data));
    if (object !== undefined) add("body-data-object", `${part}: data.object, written ${how}.`, write(object));
  }
}

type Add = (id: string, title: string, bytes: Buffer | string | undefined, fix?: string) => void;

function addByteVariants(add: Add, body: Buffer, text: string): void {
  const hasBom = body.subarray(0, 3).equals(BOM);
  add(
    hasBom ? "body-bom-removed" : "body-bom-added",
    "A byte order mark (EF BB BF) was put before the body, or taken from it.",
    hasBom ? body.subarray(3) : Buffer.concat([BOM, body]),
    "Do not decode the body before verifying it: text decoders add and drop the mark.",
  );
  const newline = "A line break at the end of the body was added or removed.";
  const keep = "Hash the bytes as received; editors, echo and heredocs add a line break (use printf or -n).";
  add("body-newline-added", newline, `${text}\n`, keep);
  add("body-crlf-added", newline, `${text}\r\n`, keep);
  add("body-newline-removed", newline, text.replace(/\r?\n$/, ""), keep);
  add("body-trimmed", "White space at the ends of the body was trimmed.", text.trim(), keep);
  const lineEnds = "Line breaks in the body were changed between LF and CRLF.";
  const transfer = "Something in between treats the body as text: pass it on as binary, unchanged.";
  add("body-crlf", lineEnds, text.replaceAll(/\r?\n/g, "\r\n"), transfer);
  add("body-lf", lineEnds, text.replaceAll("\r\n", "\n"), transfer);
  const encoding = "The bytes were decoded or encoded with the wrong character set";
  const utf8 = "The body is UTF-8, but hash its bytes, not a decoded text.";
  add("body-latin1", `${encoding} (Latin-1).`, body.toString("latin1"), utf8);
  add("body-latin1-reversed", `${encoding} (Latin-1).`, fromLatin1(text), utf8);
  add("body-utf16", `${encoding} (UTF-16).`, Buffer.from(text, "utf16le"), utf8);
  add("body-ascii", `${encoding} (ASCII, with ? for the rest).`, text.replaceAll(/[^\0-\x7f]/gu, "?"), utf8);
  add("body-lossy", "Bytes that are not UTF-8 were replaced while decoding.", text, utf8);
  add(
    "body-base64",
    "The Base64 text of the body was hashed, not the body.",
    body.toString("base64"),
    LAMBDA,
  );
  add(
    "body-base64-decoded",
    "The body is Base64 text here; the service signed what it stands for.",
    unbase64(text),
    LAMBDA,
  );
}

function addTransportVariants(add: Add, body: Buffer, text: string): void {
  const bytesOfPython = "Python wrote the bytes into the text as b'…'.";
  const joinBytes = 'Join bytes with bytes: f"{t}.".encode() + body, never f"{t}.{body}".';
  add("body-python-bytes", bytesOfPython, pythonBytes(body), joinBytes);
  const form = "The body was encoded or decoded as a form or a part of a URL";
  const asForm = "Take the raw bytes of the request, before anything reads it as a form.";
  add("body-url-encoded", `${form} (percent signs).`, urlEncoded(text), asForm);
  add("body-url-decoded", `${form} (percent signs).`, urlDecoded(text), asForm);
  add(
    "body-form-decoded",
    `${form} (plus signs and percent signs).`,
    urlDecoded(text.replaceAll("+", " ")),
    asForm,
  );
  const short = "Only the beginning of the body was hashed";
  const whole = "Read to the end of the body, and count bytes, not characters.";
  add(
    "body-cut-characters",
    `${short}: as many bytes as it has characters.`,
    body.subarray(0, text.length),
    whole,
  );
  for (const size of BUFFER_BYTES)
    if (size < body.byteLength)
      add("body-cut", `${short}: ${size.toLocaleString("en")} bytes.`, body.subarray(0, size), whole);
}

/** Sizes of buffers that programs read into once, though more may come. */
const BUFFER_BYTES = [255, 256, 512, 1_000, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_535, 65_536];

/** What Python's repr() makes of bytes. */
function pythonBytes(body: Buffer): string {
  const quote = body.includes("'") && !body.includes('"') ? '"' : "'";
  const escapes: Record<string, string> = {
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    [quote]: `\\${quote}`,
  };
  const inner = body.toString("latin1").replaceAll(/[\\'"]|[^ -~]/g, (character) => {
    if (escapes[character] !== undefined) return escapes[character];
    return /[ -~]/.test(character)
      ? character
      : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return `b${quote}${inner}${quote}`;
}

/** Half of a surrogate pair cannot be encoded. */
function urlEncoded(text: string): string | undefined {
  return text.isWellFormed() ? encodeURIComponent(text) : undefined;
}

function urlDecoded(text: string): string | undefined {
  try {
    return text.includes("%") ? decodeURIComponent(text) : undefined;
  } catch {
    return undefined;
  }
}

const LAMBDA =
  "Gateways hand binary bodies over as Base64 (isBase64Encoded): decode it to bytes once, then hash.";

function addNestingVariants(add: Add, text: string, value: unknown): void {
  add(
    "body-double-encoded",
    "The body was encoded as JSON twice: its text became a JSON string.",
    JSON.stringify(text),
  );
  if (typeof value === "string") {
    add("body-double-decoded", "The body is a JSON string that holds the real body.", value);
  }
  const consumed = "The body was empty when it was hashed: something else had read the stream before.";
  add("body-empty", consumed, "", `${RAW_BODY} Verify before any body parser runs.`);
  add("body-object", "A parsed object was turned into the text [object Object].", "[object Object]");
  const id = member(value, "id");
  if (typeof id === "string") add("body-id", "Only a part of the body was hashed: the event id.", id);
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text.replace(/^\ufeff/, "")) };
  } catch {
    return undefined;
  }
}

/** The bytes that were taken for Latin-1 and written as UTF-8; undefined when the text cannot have come about so. */
function fromLatin1(text: string): Buffer | undefined {
  return /^[\0-\xff]*$/.test(text) ? Buffer.from(text, "latin1") : undefined;
}

function unbase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/=\s]+$/.test(text) ? Buffer.from(text, "base64") : undefined;
}
