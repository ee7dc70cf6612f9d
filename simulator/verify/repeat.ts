import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import type { SentRequest } from "./delivery.ts";

const CURL_BODY_MAXIMUM_BYTES = 8_192;

/**
 * Shell lines that send `request` once more, dated and signed afresh with `$SIGNING_SECRET`; undefined where curl
 * cannot do what was done: an odd manner of sending, or a body too large or too binary for a shell.
 */
export function curlFor(request: SentRequest): string | undefined {
  const body = request.body.toString("utf8");
  const isText = Buffer.from(body).equals(request.body) && !body.includes("\0");
  if (request.note !== undefined || request.body.length > CURL_BODY_MAXIMUM_BYTES || !isText)
    return undefined;

  const { t, v1, ageSeconds } = request.signed;
  const isDated = /^\d{9,11}$/.test(t);
  const offset = ageSeconds === 0 ? "" : ` ${ageSeconds > 0 ? "-" : "+"} ${Math.abs(ageSeconds)}`;
  const date = offset === "" ? "$(date +%s)" : `$(( $(date +%s)${offset} ))`;
  const headers = request.headers
    .filter(([name]) => !["host", "content-length", "connection", "user-agent"].includes(name.toLowerCase()))
    .map(([name, value]) => {
      if (name.toLowerCase() !== SIGNATURE_HEADER.toLowerCase()) return `-H ${quoted(`${name}: ${value}`)}`;
      // What depends on the time is computed again; a forged digest stays as it was.
      const fresh = isDated ? value.replaceAll(v1, "$V1").replaceAll(`t=${t}`, "t=$T") : value;
      return fresh === value ? `-H ${quoted(`${name}: ${value}`)}` : `-H "${name}: ${fresh}"`;
    });
  const sign = `V1=$(printf '%s' "$T.$BODY" | openssl dgst -sha256 -hmac "$SIGNING_SECRET" -r | cut -d' ' -f1)`;
  const usesSignature = headers.some((header) => header.includes("$V1"));
  const usesTime = usesSignature || headers.some((header) => header.includes("$T"));
  return [
    `BODY=${quoted(body)}`,
    ...(usesTime ? [`T=${date}`] : []),
    ...(usesSignature ? [sign] : []),
    ["curl -i", ...headers, '--data-binary "$BODY"', quoted(request.url)].join(" "),
  ].join("\n");
}

/** `text` as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
