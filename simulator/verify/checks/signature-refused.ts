import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { FORGERY_WORDS } from "../../domain/judgement.ts";
import { BODY, digest, header, moment, type Part, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check } from "../check.ts";
import type { DeliverOptions, Exchange } from "../delivery.ts";
import { checksOf, refused, refusedCleanly } from "../judge.ts";
import { RULES } from "../rules.ts";

/** Right in form, but over something else and with another key. */
const UNRELATED = digest({ message: ["x"], key: "wrong" });

const MISSING = {
  spec: RULES.missing,
  hint: "Take the header apart into key=value pairs and refuse it when t or v1 is absent or empty.",
};
const DIGEST = {
  spec: RULES.digest,
  hint: "Hold v1 to 64 lower-case hexadecimal digits before it is decoded.",
};
const SIGNED_STRING = {
  spec: RULES.signedString,
  hint: 'Sign exactly t + "." + the raw bytes of the body, with t as it is written in the header, and compare the result.',
};
const COMPARE = {
  spec: RULES.compare,
  hint: "Compare all 32 bytes with a constant-time function, after making sure that both sides have 32 (it throws, or cuts, otherwise).",
};
/** Whether every header is refused that the service did not sign. */
export const refusedSignatureChecks: Check[] = checksOf("signature", DIGEST, {
  "missing-header": {
    title: "refuses a delivery without signature header",
    spec: RULES.missing,
    hint: "No header, no event: answer 401 before anything else is looked at.",
    run: refused(({ deliver, event }) => deliver(event(), { forged: true, signature: [] })),
  },
  "empty-header": { title: "refuses an empty signature header", ...MISSING, run: under([]) },
  "no-t": { title: "refuses a header without t", ...MISSING, run: under(header`v1=${V1}`) },
  "empty-t": {
    title: "refuses an empty t, though the rest is signed",
    ...MISSING,
    run: under(header`t=,v1=${digest({ message: [".", BODY] })}`),
  },
  "no-v1": { title: "refuses a header without v1", ...MISSING, run: under(header`t=${T}`) },
  "empty-v1": { title: "refuses an empty v1", ...MISSING, run: under(header`t=${T},v1=`) },
  "other-scheme": {
    title: "refuses a right digest under another key than v1",
    ...MISSING,
    run: under(header`t=${T},v0=${V1}`),
  },
  "wrong-secret": {
    title: "refuses a delivery signed with another secret",
    hint: "Compute the HMAC with the endpoint's own signing secret and compare it with v1.",
    run: refused(({ deliver, event }) =>
      deliver(event(), { secret: "whsec_of_somebody_else", forged: true }),
    ),
  },
  "empty-secret": {
    title: "refuses a delivery signed with an empty secret",
    hint: "A secret that is unset must stop the program at its start, not become an empty key.",
    run: refused(({ deliver, event }) => deliver(event(), { secret: "", forged: true })),
  },
  "changed-body": {
    title: "refuses a body of which one byte was changed",
    spec: RULES.signedString,
    hint: "The HMAC has to cover every byte of the body.",
    run: refused(async ({ deliver, event }) => {
      const envelope = event();
      const body = Buffer.from(JSON.stringify(envelope));
      const note = "Right after the genuine delivery, under the same signature header.";
      const places = [body.indexOf("evt_") + 4, body.indexOf("Caller"), body.lastIndexOf("org_") + 4];
      const changed = places.map((at) => {
        const bytes = Buffer.from(body);
        bytes[at] = bytes[at] === 0x61 ? 0x62 : 0x61;
        return bytes;
      });
      const send = (options: DeliverOptions): Promise<Exchange[]> =>
        Promise.all(changed.map((bytes) => deliver(bytes, { signedBody: body, forged: true, ...options })));
      const before = await send({});
      // A verdict that is remembered for a header shows only once the genuine one has arrived.
      await deliver(envelope);
      return [...before, ...(await send({ note }))];
    }),
  },
  borrowed: {
    title: "refuses the signature of another delivery before a new event",
    spec: RULES.signedString,
    hint: "Verify each delivery over its own body, and remember no verdict for a header.",
    run: refused(async ({ deliver, event }) => {
      const lender = await deliver(event());
      const [, lent = ""] = lender.request.headers.find(([name]) => name === SIGNATURE_HEADER) ?? [];
      const note = "Under the signature header of another delivery, right after that was taken.";
      return [
        await deliver(event(), { signature: [[lent]], note, forged: true }),
        await deliver(event("voicemail.created"), { signature: [[lent]], note, forged: true }),
      ];
    }),
  },
  "changed-t": {
    title: "refuses a t that was changed after signing",
    ...SIGNED_STRING,
    run: under(header`t=${T},v1=${digest({ message: [moment(2), ".", BODY] })}`),
  },
  "body-only": {
    title: "refuses a digest over the body alone",
    ...SIGNED_STRING,
    run: under(header`t=${T},v1=${digest({ message: [BODY] })}`),
  },
  "no-period": {
    title: "refuses a digest over t and body without the period",
    ...SIGNED_STRING,
    run: under(header`t=${T},v1=${digest({ message: [T, BODY] })}`),
  },
  "first-digit": {
    title: "refuses a digest whose first digit is wrong",
    ...COMPARE,
    run: under(header`t=${T},v1=${digest({ wrongDigit: "first" })}`),
  },
  "last-digit": {
    title: "refuses a digest whose last digit is wrong",
    ...COMPARE,
    run: under(header`t=${T},v1=${digest({ wrongDigit: "last" })}`),
  },
  "short-digest": {
    title: "refuses a digest that was cut short",
    ...COMPARE,
    phase: "alone",
    run: under(...[1, 2, 8, 32, 62, 63].map((keep) => header`t=${T},v1=${digest({ keep })}`)),
  },
  "long-digest": {
    title: "refuses a digest with more behind it",
    ...COMPARE,
    phase: "alone",
    run: under(header`t=${T},v1=${V1}0`, header`t=${T},v1=${V1}00`, header`t=${T},v1=${V1}${V1}`),
  },
  "not-hexadecimal": {
    title: "refuses a digest that is not hexadecimal",
    phase: "alone",
    run: under(
      ...["z".repeat(64), "0".repeat(64), "undefined", "null", "0x", "%00"].map(
        (odd) => header`t=${T},v1=${odd}`,
      ),
    ),
  },
  "multibyte-digest": {
    title: "refuses a digest of characters beyond ASCII",
    ...COMPARE,
    phase: "alone",
    run: under(
      header`t=${T},v1=${Buffer.from("é".repeat(64), "latin1")}`,
      header`t=${T},v1=${"é".repeat(32)}`,
      header`t=${T},v1=${"é".repeat(64)}`,
    ),
  },
  "long-header": {
    title: "refuses a signature header of thousands of characters",
    ...COMPARE,
    phase: "alone",
    run: under(
      header`t=${T},v1=${"0".repeat(6_000)}`,
      [...header`t=${T}`, ...Array.from({ length: 60 }, () => header`,v1=${UNRELATED}`).flat()],
      header`t=${T},${",".repeat(4_000)}`,
    ),
  },
  "upper-case": {
    title: "refuses a digest in upper case",
    level: "advice",
    run: under(header`t=${T},v1=${digest({ spelling: "upper-case hex" })}`),
  },
  base64: {
    title: "refuses a digest in base64",
    level: "advice",
    run: under(header`t=${T},v1=${digest({ spelling: "base64url" })}`),
  },
  "refused-cleanly": {
    title: "answers what the service did not sign without a redirect or an error of its own",
    level: FORGERY_WORDS.failed.level,
    spec: RULES.forged,
    hint: FORGERY_WORDS.failed.why,
    run: async ({ deliver, event }) => {
      const forgeries: DeliverOptions[] = [
        { signature: [] },
        { signature: [header`t=${T},v1=zz`] },
        { secret: "whsec_of_somebody_else" },
        { ageSeconds: 3_600 },
      ];
      const sent = forgeries.map((forgery) => deliver(event(), { ...forgery, forged: true }));
      return refusedCleanly(await Promise.all(sent));
    },
  },
  "two-headers": {
    title: "refuses two signature headers of which one is forged",
    level: "advice",
    spec: RULES.header,
    hint: "The service sends one. Look at the raw header list: many frameworks join repeated headers or keep one of them.",
    run: refused(({ deliver, event }) => {
      const wrong = header`t=${T},v1=${UNRELATED}`;
      const right = header`t=${T},v1=${V1}`;
      return Promise.all([
        deliver(event(), { forged: true, signature: [wrong, right] }),
        deliver(event(), { forged: true, signature: [right, wrong] }),
      ]);
    }),
  },
});

/** Each of these signature headers has to be refused. */
function under(...headers: Part[][]): Check["run"] {
  return refused(({ deliver, event }) =>
    Promise.all(headers.map((value) => deliver(event(), { forged: true, signature: [value] }))),
  );
}
