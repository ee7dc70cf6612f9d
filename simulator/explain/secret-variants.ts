import { departuresOf, type Departure, type Mistake } from "./deviation.ts";

const AS_SHOWN = "Use the secret as the dashboard showed it, character by character, as UTF-8 text.";
const TRIM =
  "Strip the line break where the secret is read (a file, an environment variable, a secret store).";
const QUOTES = "Quotes in an .env file or a YAML value must not become part of the secret.";
const PREFIX = "The prefix whsec_ is part of the secret: keep it.";
const TEXT = "The key is the text of the secret: do not decode it.";
const UNSET = "The variable that should hold the secret was not set where the code runs.";
const UNSET_WORDS = ["undefined", "null", "None", "nil"];

/** The secrets that result from the known mistakes; each differs from the secret and from all before it. */
export function secretVariants(secret: string): Departure[] {
  const bare = secret.trim();
  const body = bare.replace(/^whsec_/, "");
  const [base64, hex] = [Buffer.from(secret).toString("base64"), Buffer.from(secret).toString("hex")];
  const mistakes: Mistake[] = [
    ["trimmed", "The secret here has white space around it, which is wrong.", bare, TRIM],
    ["newline", "The secret had a line break at its end.", `${secret}\n`, TRIM],
    ["crlf", "The secret had a CRLF line break at its end.", `${secret}\r\n`, TRIM],
    ["space", "The secret had a space at its end.", `${secret} `, TRIM],
    ["quoted", "The secret had double quotes around it.", `"${secret}"`, QUOTES],
    ["single-quoted", "The secret had single quotes around it.", `'${secret}'`, QUOTES],
    ["quotes-kept", "The secret here has quotes around it, which are wrong.", unquote(bare), QUOTES],
    body === bare
      ? ["prefix-missing", "The secret lost its prefix whsec_.", `whsec_${bare}`, PREFIX]
      : ["prefix-stripped", "The prefix whsec_ was taken off the secret.", body, PREFIX],
    ["base64-decoded", "The secret was decoded as Base64.", decode(body, "base64"), TEXT],
    [
      "base64-decoded-whole",
      "The secret, with its prefix, was decoded as Base64.",
      decode(bare, "base64"),
      TEXT,
    ],
    ["hex-decoded", "The secret was decoded as hexadecimal.", decode(body, "hex"), TEXT],
    ["base64-encoded", "The secret was encoded as Base64.", base64, TEXT],
    ["hex-encoded", "The secret was encoded as hexadecimal.", hex, TEXT],
    ["lower-case", "The secret was turned to lower case.", secret.toLowerCase()],
    ["upper-case", "The secret was turned to upper case.", secret.toUpperCase()],
    ["empty", "The secret was empty.", "", UNSET],
    ...UNSET_WORDS.map((word): Mistake => [word, `The secret was the word ${word}.`, word, UNSET]),
  ];
  return departuresOf(Buffer.from(secret), mistakes, {
    prefix: "secret",
    usualFix: AS_SHOWN,
    change: (made) => ({ key: () => made }),
  });
}

function unquote(secret: string): string | undefined {
  return /^(["'`])(.*)\1$/.exec(secret)?.[2];
}

function decode(text: string, encoding: "base64" | "hex"): Buffer | undefined {
  const pattern = encoding === "hex" ? /^(?:[0-9a-f]{2})+$/i : /^[A-Za-z0-9+/_-]+={0,2}$/;
  return pattern.test(text) ? Buffer.from(text, encoding) : undefined;
}
