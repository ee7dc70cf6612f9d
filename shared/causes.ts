/** Characters of an error's text that are read, and that its cause keeps. */
const LONGEST_READ = 2_000;
const LONGEST_CAUSE = 200;

/**
 * What differs from one occurrence of an error to the next, and the mask in its place. A status comes first and stays,
 * since it says what happened.
 */
const VARYING: [pattern: RegExp, mask: (found: string) => string][] = [
  [
    /\b(?:status|code|HTTP|answered|returned|responded|response|with):? (?:code )?[1-5]\d\d\b/,
    (status) => status,
  ],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/, () => "<id>"],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?\b/, () => "<time>"],
  [/\b\d\d?:\d\d:\d\d\b/, () => "<time>"],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/, () => "<address>"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d{1,5}\b)?/, () => "<address>"],
  [/(?:\[[0-9a-f:.]{2,45}\]|(?<![\w:])::1\b)(?::\d{1,5}\b)?/, () => "<address>"],
  [/\w+/, (word) => (isId(word) ? "<id>" : word.replace(/^\d+/, "<number>"))],
];
const ANY = new RegExp(VARYING.map(([{ source }]) => `(${source})`).join("|"), "gi");

/**
 * The cause in an error's text: the same text for each occurrence of the same error, so that they can be counted together.
 * `Customer cus_9s6XKzkNRiz8 not found` becomes `Customer <id> not found`.
 */
export function causeOfError(text: string): string {
  return text
    .slice(0, LONGEST_READ)
    .replace(ANY, (found: string, ...groups: unknown[]) => {
      const mask = VARYING[groups.findIndex((group) => group !== undefined)]?.[1];
      return mask?.(found) ?? found;
    })
    .replaceAll(/<number>(?:[.,]<number>)+/g, "<number>")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, LONGEST_CAUSE);
}

/** An id has a prefix (`cus_…`), or mixes letters with several digits; a word of a program (`ERR_HTTP2`, `base64`) is none. */
function isId(word: string): boolean {
  const tail = word.slice(word.lastIndexOf("_") + 1);
  const hasPrefix = /^[a-z]{2,12}_/.test(word);
  const isMixed = /\d/.test(tail) || (/[a-z]/.test(tail) && /[A-Z]/.test(tail));
  if (hasPrefix && tail.length >= 6 && isMixed) return true;
  const digits = word.replaceAll(/\D/g, "").length;
  return word.length >= 8 && digits >= 3 && digits < word.length && !/^[A-Z]+_[A-Z0-9_]+$/.test(word);
}
