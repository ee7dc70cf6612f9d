import { departuresOf, type Departure, type Mistake } from "./deviation.ts";
import { JSON_VARIANTS } from "./json-variants.ts";

const RAW_BODY =
  "Take the raw bytes of the request before anything parses them (express.raw(), request.get_data(), php://input, io.ReadAll).";
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

const KEEP = "Hash the bytes as received; editors, echo and heredocs add a line break (use printf or -n).";
const TRANSFER = "Something in between treats the body as text: pass it on as binary, unchanged.";
const UTF8 = "The body is UTF-8: hash its bytes, not a decoded text.";
const NO_DECODER = "Do not decode the body before verifying it: text decoders add and drop the mark.";
const JOIN_BYTES = 'Join bytes with bytes: f"{t}.".encode() + body, never f"{t}.{body}".';
const AS_FORM = "Take the raw bytes of the request, before anything reads it as a form.";
const WHOLE = "Read to the end of the body, and count bytes, not characters.";
const LAMBDA =
  "Gateways hand binary bodies over as Base64 (isBase64Encoded): decode it to bytes once, then hash.";
const NEWLINE = "A line break at the end of the body was added or removed.";
const LINE_ENDS = "Line breaks in the body were changed between LF and CRLF.";
const ENCODING = "The bytes were decoded or encoded with the wrong character set";
const FORM = "The body was encoded or decoded as a form or a part of a URL";
const SHORT = "Only the beginning of the body was hashed";
const PART = "Only a part of the body was hashed";

/** The bodies that result from the known mistakes; each differs from the body and from all before it. */
export function bodyVariants(body: Buffer): Departure[] {
  const text = body.toString("utf8");
  const parsed = parse(text);
  // The small changes first: writing the JSON again undoes some of them too.
  const mistakes = [
    ...byteVariants(body, text),
    ...transportVariants(body, text),
    ...nestingVariants(text, parsed?.value),
    ...(parsed === undefined ? [] : jsonVariants(text)),
  ];
  return departuresOf(body, mistakes, {
    prefix: "body",
    usualFix: RAW_BODY,
    change: (made) => ({ body: () => made }),
  });
}

function jsonVariants(text: string): Mistake[] {
  const json = text.replace(/^\ufeff/, "");
  const again = JSON_VARIANTS.map(({ id, how, read, write }) => {
    const value = read(json);
    const data = member(value, "data");
    return { id, how, value, data, object: member(data, "object"), write };
  });
  const written = (write: (value: unknown) => string, part: unknown) =>
    part === undefined ? undefined : write(part);
  return [
    ...again.map(({ id, how, value, write }): Mistake => [
      `reserialized-${id}`,
      `The JSON was parsed and written again, ${how}.`,
      write(value),
    ]),
    ...again.flatMap(({ how, data, object, write }): Mistake[] => [
      ["data", `${PART}: its data, written ${how}.`, written(write, data)],
      ["data-object", `${PART}: data.object, written ${how}.`, written(write, object)],
    ]),
  ];
}

function byteVariants(body: Buffer, text: string): Mistake[] {
  const hasBom = body.subarray(0, 3).equals(BOM);
  const mark = "A byte order mark (EF BB BF) was put before the body, or taken from it.";
  return [
    hasBom
      ? ["bom-removed", mark, body.subarray(3), NO_DECODER]
      : ["bom-added", mark, Buffer.concat([BOM, body]), NO_DECODER],
    ["newline-added", NEWLINE, `${text}\n`, KEEP],
    ["crlf-added", NEWLINE, `${text}\r\n`, KEEP],
    ["newline-removed", NEWLINE, text.replace(/\r?\n$/, ""), KEEP],
    ["trimmed", "White space at the ends of the body was trimmed.", text.trim(), KEEP],
    ["crlf", LINE_ENDS, text.replaceAll(/\r?\n/g, "\r\n"), TRANSFER],
    ["lf", LINE_ENDS, text.replaceAll("\r\n", "\n"), TRANSFER],
    ["latin1", `${ENCODING} (Latin-1).`, body.toString("latin1"), UTF8],
    ["latin1-reversed", `${ENCODING} (Latin-1).`, fromLatin1(text), UTF8],
    ["utf16", `${ENCODING} (UTF-16).`, Buffer.from(text, "utf16le"), UTF8],
    ["ascii", `${ENCODING} (ASCII, with ? for the rest).`, text.replaceAll(/[^\0-\x7f]/gu, "?"), UTF8],
    ["lossy", "Bytes that are not UTF-8 were replaced while decoding.", text, UTF8],
    ["base64", "The Base64 text of the body was hashed, not the body.", body.toString("base64"), LAMBDA],
    ["base64-decoded", "The body here is Base64; its decoded bytes were signed.", unbase64(text), LAMBDA],
  ];
}

function transportVariants(body: Buffer, text: string): Mistake[] {
  const decoded = urlDecoded(text.replaceAll("+", " "));
  const cut = body.subarray(0, text.length);
  return [
    ["python-bytes", "Python wrote the bytes into the text as b'…'.", pythonBytes(body), JOIN_BYTES],
    ["url-encoded", `${FORM} (percent signs).`, urlEncoded(text), AS_FORM],
    ["url-decoded", `${FORM} (percent signs).`, urlDecoded(text), AS_FORM],
    ["form-decoded", `${FORM} (plus signs and percent signs).`, decoded, AS_FORM],
    ["cut-characters", `${SHORT}: as many bytes as it has characters.`, cut, WHOLE],
    ...BUFFER_BYTES.filter((size) => size < body.byteLength).map((size): Mistake => {
      return ["cut", `${SHORT}: ${size.toLocaleString("en")} bytes.`, body.subarray(0, size), WHOLE];
    }),
  ];
}

/** Sizes of buffers that programs fill with a single read, though more may come. */
const BUFFER_BYTES = [255, 256, 512, 1_000, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_535, 65_536];

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

function nestingVariants(text: string, value: unknown): Mistake[] {
  const consumed = "The body was empty when it was hashed: something else had read the stream before.";
  const inner = typeof value === "string" ? value : undefined;
  const id = member(value, "id");
  return [
    ["double-encoded", "The body was encoded as JSON twice: it became a JSON string.", JSON.stringify(text)],
    ["double-decoded", "The body is a JSON string that holds the real body.", inner],
    ["empty", consumed, "", `${RAW_BODY} Verify before any body parser runs.`],
    ["object", "A parsed object was turned into the text [object Object].", "[object Object]"],
    ["id", `${PART}: the event id.`, typeof id === "string" ? id : undefined],
  ];
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

/** The bytes that were read as Latin-1 and written as UTF-8; undefined if the text cannot result from that. */
function fromLatin1(text: string): Buffer | undefined {
  return /^[\0-\xff]*$/.test(text) ? Buffer.from(text, "latin1") : undefined;
}

function unbase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/=\s]+$/.test(text) ? Buffer.from(text, "base64") : undefined;
}
