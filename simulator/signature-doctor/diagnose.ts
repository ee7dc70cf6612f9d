import { createHmac } from "node:crypto";
import { bodyVariants, type BodyVariant } from "./body-variants.ts";
import type { Deviation } from "./deviation.ts";
import { DIGEST_VARIANTS, SPELLINGS, type DigestVariant } from "./digest-variants.ts";
import { readHeader } from "./header.ts";
import { messageVariants, type MessageVariant } from "./message-variants.ts";
import { secretVariants, type SecretVariant } from "./secret-variants.ts";

export type Diagnosis = {
  /** Whether the header verifies for this body and secret at this time. */
  valid: boolean;
  /** What is wrong, the cause of a digest that does not fit first. Empty when nothing is. */
  findings: Deviation[];
  /** The digest that is right for this body and secret; undefined when the header has no t. */
  expected: string | undefined;
  /** False when a digest does not fit and none of the known mistakes explains it. */
  explained: boolean;
  /** How many recipes were tried. */
  tried: number;
};

/** One way to come to a digest: right in everything, or wrong in some of it. */
type Recipe = { body: BodyVariant; secret: SecretVariant; message: MessageVariant; digest: DigestVariant };

const ID_PATTERN = /"id"\s*:\s*"(evt_[0-9a-fA-F]{32})"/;
/** A clock of one's own in the place of the header's t is looked for this far around. */
const OWN_CLOCK_SECONDS = 300;

/**
 * Finds out why a signature does not verify, by trying the known mistakes (and pairs of them) until one gives the digest
 * that the header has, or that the user's own code came to (`computed`, as that code prints it).
 */
export function diagnose(options: {
  header: string;
  body: Buffer;
  secret: string;
  nowSeconds: number;
  computed?: string;
}): Diagnosis {
  const { body, secret, nowSeconds, computed } = options;
  const { t, digests, findings } = readHeader(options.header, nowSeconds);
  const expected = t === undefined ? undefined : digestOf(body, secret, t);
  if (t === undefined || expected === undefined || digests.length === 0) {
    return { valid: false, findings, expected, explained: findings.length > 0, tried: 0 };
  }
  const headerFits = digests.includes(expected);
  const bareComputed = computed === undefined ? undefined : bareDigest(computed);
  if (headerFits && (bareComputed === undefined || bareComputed === expected)) {
    const comparison = bareComputed === undefined ? [] : [COMPARISON];
    const isValid = findings.length === 0;
    return {
      valid: isValid,
      findings: isValid ? comparison : findings,
      expected,
      explained: true,
      tried: 1,
    };
  }

  // Beside a header that is right, the mistake is in how the user's own digest came about.
  const targets = [...(headerFits ? [] : digests), ...(bareComputed === undefined ? [] : [bareComputed])];
  const search = createSearch({ ...options, t });
  for (const target of targets) {
    const found = target === expected ? undefined : search.find(target);
    if (found !== undefined) {
      const causes = [...found, ...findings].filter(isFirstOfItsId);
      return { valid: false, findings: causes, expected, explained: true, tried: search.tried() };
    }
  }
  if (bareComputed !== undefined && !headerFits && bareComputed === expected) findings.unshift(OTHER_SECRET);
  return { valid: false, findings, expected, explained: false, tried: search.tried() };
}

const COMPARISON: Deviation = {
  id: "comparison",
  title: "What your code computed is what the header has: the digest is right.",
  fix: "Look at the comparison: text with text, or bytes with bytes, both as hexadecimal; and at the check of t.",
};

const OTHER_SECRET: Deviation = {
  id: "other-secret",
  title: "Your code computes correctly for this body and secret, but the header was made with others.",
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
  const bodies = bodyVariants(body);
  const secrets = secretVariants(secret);
  const messages = messageVariants({ t, header: header.trim(), eventId });
  let tried = 0;

  function find(target: string): Deviation[] | undefined {
    for (const recipe of recipes()) {
      tried += 1;
      const digest = compute(recipe);
      const spelling = SPELLINGS.find(({ spell }) => spell(digest) === target);
      if (spelling === undefined) continue;
      const { body: bodyPart, secret: secretPart, message, digest: digestPart } = recipe;
      return [bodyPart, secretPart, message, digestPart, spelling].flatMap(
        ({ deviation }) => deviation ?? [],
      );
    }
    return ownClock(target);
  }

  /** Every recipe with at most two deviations, those with fewer first. */
  function* recipes(): Generator<Recipe> {
    const [rightBody] = bodies;
    const [rightSecret] = secrets;
    const [rightMessage] = messages;
    const [rightDigest] = DIGEST_VARIANTS;
    if (!rightBody || !rightSecret || !rightMessage || !rightDigest) return;
    const right: Recipe = {
      body: rightBody,
      secret: rightSecret,
      message: rightMessage,
      digest: rightDigest,
    };
    const wrong: Partial<Recipe>[][] = [
      bodies.slice(1).map((variant) => ({ body: variant })),
      secrets.slice(1).map((variant) => ({ secret: variant })),
      messages.slice(1).map((variant) => ({ message: variant })),
      DIGEST_VARIANTS.slice(1).map((variant) => ({ digest: variant })),
    ];
    yield right;
    for (const changes of wrong) for (const change of changes) yield { ...right, ...change };
    for (const [index, first] of wrong.entries())
      for (const second of wrong.slice(index + 1))
        for (const one of first) for (const other of second) yield { ...right, ...one, ...other };
  }

  function compute({ body: { bytes }, secret: { key }, message, digest }: Recipe): Buffer {
    const parts = [
      Buffer.from(message.before),
      message.withoutBody === true ? EMPTY : bytes,
      Buffer.from(message.after),
    ];
    return digest.digest(key, Buffer.concat(parts));
  }

  /** The code took its own time in the place of the header's t. */
  function ownClock(target: string): Deviation[] | undefined {
    for (let offset = -OWN_CLOCK_SECONDS; offset <= OWN_CLOCK_SECONDS; offset += 1) {
      tried += 1;
      const seconds = nowSeconds + offset;
      if (digestOf(body, secret, String(seconds)) !== target) continue;
      return [
        {
          id: "message-own-clock",
          title: `The time ${seconds} was hashed, not the header's t (${t}).`,
          fix: "Take t from the header, as text: the moment of verification is only compared with it.",
        },
      ];
    }
    return undefined;
  }

  return { find, tried: () => tried };
}

const EMPTY = Buffer.alloc(0);

/** The digest of SPEC §6 over the text of t as it stands, which need not be a number. */
function digestOf(body: Buffer, secret: string, t: string): string {
  return createHmac("sha256", secret).update(`${t}.`).update(body).digest("hex");
}

/** What the user's code printed, without what is often printed around it. */
function bareDigest(text: string): string {
  const value = text.trim().replace(/^(["'])(.*)\1$/, "$2");
  const v1 = /(?:^|,)v1=([^,]*)/.exec(value)?.[1] ?? value;
  return v1.replace(/^sha256=/i, "");
}

function isFirstOfItsId(finding: Deviation, index: number, all: readonly Deviation[]): boolean {
  return all.findIndex(({ id }) => id === finding.id) === index;
}
