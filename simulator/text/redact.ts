/** Removes secrets from foreign text before it is cut, stored or shown. */
export type Redact = ReturnType<typeof createRedactor>;

/** A shorter text is not redacted, since it would match ordinary words. */
const SHORTEST_SECRET_CHARACTERS = 8;
/** The beginning of a secret of at least this length, at the end of a text that was cut off, is redacted too. */
const SHORTEST_REST_CHARACTERS = 6;

const REDACTED = "[redacted]";
/** Schemes are bounded to 30 characters, so that a match takes time linear in the text. */
const USER_INFO = /([a-z0-9+.-]{1,30}:\/\/)[^\s/?#"'<>\\]+@/gi;

/** Replaces each of `secrets`, in plain or in a usual encoding, and the user info of every URL. */
export function createRedactor(secrets: readonly string[]) {
  const forms = [...new Set(secrets.flatMap(formsOf))]
    .filter((form) => form.length >= SHORTEST_SECRET_CHARACTERS)
    .toSorted((left, right) => right.length - left.length);

  function text(said: string): string {
    let shown = said;
    for (const form of forms) shown = shown.replaceAll(form, REDACTED);
    return withoutRest(shown, forms).replaceAll(USER_INFO, `$1${REDACTED}@`);
  }

  return {
    text,
    bytes(bytes: Buffer): Buffer {
      // One character per byte, so that bytes that are not text stay unchanged.
      const said = bytes.toString("latin1");
      const shown = text(said);
      return shown === said ? bytes : Buffer.from(shown, "latin1");
    },
  };
}

function formsOf(secret: string): string[] {
  const plain = [secret, secret.replace(/^whsec_/, "")];
  return [
    ...plain,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    ...plain.flatMap((form) => {
      const bytes = Buffer.from(form);
      return [bytes.toString("hex"), bytes.toString("base64"), bytes.toString("base64url")];
    }),
    // The form in which UTF-8 appears when read one byte a character.
    Buffer.from(secret).toString("latin1"),
  ];
}

function withoutRest(said: string, forms: readonly string[]): string {
  for (const form of forms) {
    for (let length = form.length - 1; length >= SHORTEST_REST_CHARACTERS; length -= 1) {
      if (said.endsWith(form.slice(0, length))) return said.slice(0, -length) + REDACTED;
    }
  }
  return said;
}

/** An address without user name and password, which the service does not send and no report shows. */
export function withoutUserInfo(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, "$1");
}
