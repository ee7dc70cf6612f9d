import { hashOf, SPELL } from "../signature-recipe/evaluate.ts";
import { bodyVariants } from "./body-variants.ts";
import type { Departure, Deviation } from "./deviation.ts";
import { DIGEST_VARIANTS, SPELLING_VARIANTS } from "./digest-variants.ts";
import { readHeader } from "./header.ts";
import { messageVariants } from "./message-variants.ts";
import { secretVariants } from "./secret-variants.ts";

export type Diagnosis = {
  valid: boolean;
  /** The problems, the cause of a wrong digest first. Empty if there are none. */
  findings: Deviation[];
  /** The right digest for this body and secret; undefined if the header has no t. */
  expected: string | undefined;
  /** False if a digest is wrong and no known mistake explains it. */
  explained: boolean;
  tried: number;
};

const ID_PATTERN = /"id"\s*:\s*"(evt_[0-9a-fA-F]{32})"/;
/** Thousands of pairs of mistakes on a larger body would take too long. */
const LARGEST_BODY_OF_PAIRS = 64 * 1024;
/** How far around now to search for a receiver's own time in place of the header's t. */
const OWN_CLOCK_SECONDS = 300;

/** Tries the known mistakes, and pairs of them, until one gives the header's digest or the user's own (`computed`). */
export function diagnose(options: {
  header: string;
  body: Buffer;
  secret: string;
  nowSeconds: number;
  computed?: string | undefined;
}): Diagnosis {
  const { body, secret, nowSeconds, computed } = options;
  const { t, digests, findings } = readHeader(options.header, nowSeconds);
  const expected = t === undefined ? undefined : digestOf(body, secret, t);
  if (t === undefined || expected === undefined || digests.length === 0)
    return { valid: false, findings, expected, explained: findings.length > 0, tried: 0 };
  const headerFits = digests.includes(expected);
  const bareComputed = computed === undefined ? undefined : bareDigest(computed);
  if (headerFits && (bareComputed === undefined || bareComputed === expected)) {
    const comparison = bareComputed === undefined ? [] : [COMPARISON];
    const isValid = findings.length === 0;
    return { valid: isValid, findings: isValid ? comparison : findings, expected, explained: true, tried: 1 };
  }

  // If the header is right, the mistake is in the user's own digest.
  const targets = [...(headerFits ? [] : digests), ...(bareComputed === undefined ? [] : [bareComputed])];
  const search = createSearch({ ...options, t });
  const because = (causes: Deviation[], explained: boolean): Diagnosis => ({
    valid: false,
    findings: causes,
    expected,
    explained,
    tried: search.tried(),
  });
  for (const target of targets) {
    const found = target === expected ? undefined : search.find(target);
    if (found !== undefined) return because([...found, ...findings].filter(isFirstOfItsId), true);
  }
  if (bareComputed !== undefined && isPiece(bareComputed, expected))
    return because([cutOff(bareComputed), ...findings], true);
  if (bareComputed !== undefined && !headerFits && bareComputed === expected) findings.unshift(OTHER_SECRET);
  const isCutOff = /^\s*\{/.test(body.toString("latin1")) && !isJson(body);
  return isCutOff ? because([BODY_CUT_OFF, ...findings], true) : because(findings, false);
}

const BODY_CUT_OFF: Deviation = {
  id: "body-incomplete",
  title: "This body is cut off or damaged: it begins as JSON and does not end as JSON.",
  fix: "Take the raw bytes of the whole request, to the last one that Content-Length counts.",
};

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}

const COMPARISON: Deviation = {
  id: "comparison",
  title: "Your code computed the digest of the header: it is right.",
  fix: "Check the comparison (text with text or bytes with bytes, both as hexadecimal) and the check of t.",
};

const OTHER_SECRET: Deviation = {
  id: "other-secret",
  title: "Your code computes correctly for this body and secret, but another body or secret was signed.",
  fix: "Compare the last four characters of the secret with the dashboard's: is it this endpoint's, and not an older one?",
};

function createSearch(options: {
  header: string;
  body: Buffer;
  secret: string;
  nowSeconds: number;
  t: string;
}) {
  const { header, body, secret, nowSeconds, t } = options;
  const eventId = ID_PATTERN.exec(body.toString("latin1"))?.[1] ?? "";
  const kinds = [
    bodyVariants(body),
    secretVariants(secret),
    messageVariants({ t, header: header.trim(), eventId }),
    DIGEST_VARIANTS,
  ];
  let tried = 0;

  function find(target: string): Deviation[] | undefined {
    for (const departures of combinations()) {
      tried += 1;
      const changes = departures.reduce<Departure["change"]>(
        (all, { change }) => ({ ...all, ...change }),
        {},
      );
      const hash = hashOf(changes, { body, secret, nowSeconds, t });
      const deviations = departures.map(({ deviation }) => deviation);
      if (SPELL.hex(hash) === target) return deviations;
      const spelling = SPELLING_VARIANTS.find(({ change }) => SPELL[change.spelling](hash) === target);
      if (spelling !== undefined) return [...deviations, spelling.deviation];
    }
    return ownClock(target);
  }

  /** The service's recipe, then each with one deviation, then each with two of different kinds. */
  function* combinations(): Generator<Departure[]> {
    yield [];
    for (const kind of kinds) for (const departure of kind) yield [departure];
    if (body.byteLength > LARGEST_BODY_OF_PAIRS) return;
    for (const [index, first] of kinds.entries())
      for (const second of kinds.slice(index + 1))
        for (const one of first) for (const other of second) yield [one, other];
  }

  /** Whether the code hashed its own time in place of the header's t. */
  function ownClock(target: string): Deviation[] | undefined {
    for (let offset = -OWN_CLOCK_SECONDS; offset <= OWN_CLOCK_SECONDS; offset += 1) {
      tried += 1;
      const seconds = nowSeconds + offset;
      if (digestOf(body, secret, String(seconds)) !== target) continue;
      return [
        {
          id: "message-own-clock",
          title: `The time ${seconds} was hashed, not the header's t (${t}).`,
          fix: "Take t from the header, as text; only compare it with the current time.",
        },
      ];
    }
    return undefined;
  }

  return { find, tried: () => tried };
}

/** The digest of SPEC §6 over the text of t, which need not be a number. */
function digestOf(body: Buffer, secret: string, t: string): string {
  return SPELL.hex(hashOf({}, { body, secret, nowSeconds: 0, t }));
}

/** The user's printed digest, without quotes, prefixes and the like. */
function bareDigest(text: string): string {
  const value = text.trim().replace(/^(["'])(.*)\1$/, "$2");
  const v1 = /(?:^|,)v1=([^,]*)/.exec(value)?.[1] ?? value;
  return v1.replace(/^sha256=/i, "");
}

/** A beginning or an end of the right digest, too long to be a coincidence. */
function isPiece(text: string, digest: string): boolean {
  return (
    text.length >= 8 && text.length < digest.length && (digest.startsWith(text) || digest.endsWith(text))
  );
}

function cutOff({ length }: string): Deviation {
  return {
    id: "cut-off",
    title: `What your code computed is a piece of the right digest: ${length} of its 64 characters.`,
    fix: "Compare all 64: find where your code cuts the text, or writes too few bytes as hexadecimal.",
  };
}

function isFirstOfItsId(finding: Deviation, index: number, all: readonly Deviation[]): boolean {
  return all.findIndex(({ id }) => id === finding.id) === index;
}
