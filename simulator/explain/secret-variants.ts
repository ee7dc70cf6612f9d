import type { Departure } from "./deviation.ts";

const AS_SHOWN = "Use the secret as the dashboard showed it, character by character, as UTF-8 text.";

/** What the known mistakes make of the secret; each different from it and from all before it. */
export function secretVariants(secret: string): Departure[] {
  const variants: Departure[] = [];
  const known: Buffer[] = [Buffer.from(secret)];
  const add = (id: string, title: string, key: string | Buffer | undefined, fix = AS_SHOWN) => {
    if (key === undefined) return;
    const buffer = typeof key === "string" ? Buffer.from(key) : key;
    if (known.some((other) => other.equals(buffer))) return;
    known.push(buffer);
    variants.push({ deviation: { id, title, fix }, change: { key: () => buffer } });
  };

  const trim =
    "Strip the line break where the secret is read (a file, an environment variable, a secret store).";
  add(
    "secret-trimmed",
    "The secret here has white space around it; without it, it fits.",
    secret.trim(),
    trim,
  );
  add("secret-newline", "The secret had a line break at its end.", `${secret}\n`, trim);
  add("secret-crlf", "The secret had a CRLF line break at its end.", `${secret}\r\n`, trim);
  add("secret-space", "The secret had a space at its end.", `${secret} `, trim);

  const quotes = "Quotes in an .env file or a YAML value must not become part of the secret.";
  const bare = secret.trim();
  add("secret-quoted", "The secret had double quotes around it.", `"${secret}"`, quotes);
  add("secret-single-quoted", "The secret had single quotes around it.", `'${secret}'`, quotes);
  add(
    "secret-quotes-kept",
    "The secret here has quotes around it; without them, it fits.",
    unquote(bare),
    quotes,
  );

  const prefix = "The prefix whsec_ is part of the secret: leave it where it is.";
  const body = bare.replace(/^whsec_/, "");
  if (body === bare)
    add("secret-prefix-missing", "The secret lost its prefix whsec_.", `whsec_${bare}`, prefix);
  else add("secret-prefix-stripped", "The prefix whsec_ was taken off the secret.", body, prefix);

  const text = "The key is the secret's text itself: decode nothing.";
  add("secret-base64-decoded", "The secret was decoded as Base64.", decode(body, "base64"), text);
  add(
    "secret-base64-decoded-whole",
    "The secret, prefix included, was decoded as Base64.",
    decode(bare, "base64"),
    text,
  );
  add("secret-hex-decoded", "The secret was decoded as hexadecimal.", decode(body, "hex"), text);
  add(
    "secret-base64-encoded",
    "The secret was encoded as Base64.",
    Buffer.from(secret).toString("base64"),
    text,
  );
  add(
    "secret-hex-encoded",
    "The secret was encoded as hexadecimal.",
    Buffer.from(secret).toString("hex"),
    text,
  );
  add("secret-lower-case", "The secret was turned to lower case.", secret.toLowerCase());
  add("secret-upper-case", "The secret was turned to upper case.", secret.toUpperCase());

  const unset = "The variable that should hold the secret was not set where the code runs.";
  add("secret-empty", "The secret was empty.", "", unset);
  for (const word of ["undefined", "null", "None", "nil"])
    add(`secret-${word}`, `The secret was the word ${word}.`, word, unset);
  return variants;
}

function unquote(secret: string): string | undefined {
  return /^(["'`])(.*)\1$/.exec(secret)?.[2];
}

function decode(text: string, encoding: "base64" | "hex"): Buffer | undefined {
  const pattern = encoding === "hex" ? /^(?:[0-9a-f]{2})+$/i : /^[A-Za-z0-9+/_-]+={0,2}$/;
  return pattern.test(text) ? Buffer.from(text, encoding) : undefined;
}
