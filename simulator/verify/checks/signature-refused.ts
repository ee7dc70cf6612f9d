import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { BODY, digest, header, moment, type Part, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check } from "../check.ts";
import type { DeliverOptions, Exchange } from "../delivery.ts";
import { refuses } from "../judge.ts";
import { type Rule, RULES } from "../rules.ts";

/** Right in form, but over something else and with another key. */
const UNRELATED = digest({ message: ["x"], key: "wrong" });

const HINTS: Record<string, string> = {
  [RULES.missing.section]:
    "Take the header apart into key=value pairs and refuse it when t or v1 is absent or empty.",
  [RULES.signedString.section]:
    'Sign exactly t + "." + the raw bytes of the body, with t as it is written in the header, and compare the result.',
  [RULES.digest.section]: "Hold v1 to 64 lower-case hexadecimal digits before it is decoded.",
  [RULES.compare.section]:
    "Compare all 32 bytes with a constant-time function, after making sure that both sides have 32 (it throws, or cuts, otherwise).",
};

/** Whether every header is refused that the service did not sign. */
export const refusedSignatureChecks: Check[] = [
  refuses(
    "signature",
    {
      id: "signature.missing-header",
      title: "refuses a delivery without signature header",
      level: "must",
      spec: RULES.missing,
      hint: "No header, no event: answer 401 before anything else is looked at.",
    },
    ({ deliver, event }) => deliver(event(), { forged: true, signature: [] }),
  ),
  forged("empty-header", "refuses an empty signature header", RULES.missing, [[]]),
  forged("no-t", "refuses a header without t", RULES.missing, [header`v1=${V1}`]),
  forged("empty-t", "refuses an empty t, though the rest is signed", RULES.missing, [
    header`t=,v1=${digest({ message: [".", BODY] })}`,
  ]),
  forged("no-v1", "refuses a header without v1", RULES.missing, [header`t=${T}`]),
  forged("empty-v1", "refuses an empty v1", RULES.missing, [header`t=${T},v1=`]),
  forged("other-scheme", "refuses a right digest under another key than v1", RULES.missing, [
    header`t=${T},v0=${V1}`,
  ]),
  refuses(
    "signature",
    {
      id: "signature.wrong-secret",
      title: "refuses a delivery signed with another secret",
      level: "must",
      spec: RULES.digest,
      hint: "Compute the HMAC with the endpoint's own signing secret and compare it with v1.",
    },
    ({ deliver, event }) => deliver(event(), { secret: "whsec_of_somebody_else", forged: true }),
  ),
  refuses(
    "signature",
    {
      id: "signature.empty-secret",
      title: "refuses a delivery signed with an empty secret",
      level: "must",
      spec: RULES.digest,
      hint: "A secret that is unset must stop the program at its start, not become an empty key.",
    },
    ({ deliver, event }) => deliver(event(), { secret: "", forged: true }),
  ),
  refuses(
    "signature",
    {
      id: "signature.changed-body",
      title: "refuses a body of which one byte was changed",
      level: "must",
      spec: RULES.signedString,
      hint: "The HMAC has to cover every byte of the body.",
    },
    async ({ deliver, event }) => {
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
    },
  ),
  refuses(
    "signature",
    {
      id: "signature.borrowed",
      title: "refuses the signature of another delivery before a new event",
      level: "must",
      spec: RULES.signedString,
      hint: "Verify each delivery over its own body, and remember no verdict for a header.",
    },
    async ({ deliver, event }) => {
      const lender = await deliver(event());
      const [, lent = ""] = lender.request.headers.find(([name]) => name === SIGNATURE_HEADER) ?? [];
      const note = "Under the signature header of another delivery, right after that was taken.";
      return [
        await deliver(event(), { signature: [[lent]], note, forged: true }),
        await deliver(event("voicemail.created"), { signature: [[lent]], note, forged: true }),
      ];
    },
  ),
  forged("changed-t", "refuses a t that was changed after signing", RULES.signedString, [
    header`t=${T},v1=${digest({ message: [moment(2), ".", BODY] })}`,
  ]),
  forged("body-only", "refuses a digest over the body alone", RULES.signedString, [
    header`t=${T},v1=${digest({ message: [BODY] })}`,
  ]),
  forged("no-period", "refuses a digest over t and body without the period", RULES.signedString, [
    header`t=${T},v1=${digest({ message: [T, BODY] })}`,
  ]),
  forged("first-digit", "refuses a digest whose first digit is wrong", RULES.compare, [
    header`t=${T},v1=${digest({ wrongDigit: "first" })}`,
  ]),
  forged("last-digit", "refuses a digest whose last digit is wrong", RULES.compare, [
    header`t=${T},v1=${digest({ wrongDigit: "last" })}`,
  ]),
  {
    ...forged(
      "short-digest",
      "refuses a digest that was cut short",
      RULES.compare,
      [1, 2, 8, 32, 62, 63].map((keep) => header`t=${T},v1=${digest({ keep })}`),
    ),
    phase: "alone",
  },
  {
    ...forged("long-digest", "refuses a digest with more behind it", RULES.compare, [
      header`t=${T},v1=${V1}0`,
      header`t=${T},v1=${V1}00`,
      header`t=${T},v1=${V1}${V1}`,
    ]),
    phase: "alone",
  },
  {
    ...forged(
      "not-hexadecimal",
      "refuses a digest that is not hexadecimal",
      RULES.digest,
      ["z".repeat(64), "0".repeat(64), "undefined", "null", "0x", "%00"].map(
        (odd) => header`t=${T},v1=${odd}`,
      ),
    ),
    phase: "alone",
  },
  {
    ...forged("multibyte-digest", "refuses a digest of characters beyond ASCII", RULES.compare, [
      header`t=${T},v1=${Buffer.from("é".repeat(64), "latin1")}`,
      header`t=${T},v1=${"é".repeat(32)}`,
      header`t=${T},v1=${"é".repeat(64)}`,
    ]),
    phase: "alone",
  },
  {
    ...forged("long-header", "refuses a signature header of thousands of characters", RULES.compare, [
      header`t=${T},v1=${"0".repeat(6_000)}`,
      [...header`t=${T}`, ...Array.from({ length: 60 }, () => header`,v1=${UNRELATED}`).flat()],
      header`t=${T},${",".repeat(4_000)}`,
    ]),
    phase: "alone",
  },
  forged(
    "upper-case",
    "refuses a digest in upper case",
    RULES.digest,
    [header`t=${T},v1=${digest({ spelling: "upper-case hex" })}`],
    "advice",
  ),
  forged(
    "base64",
    "refuses a digest in base64",
    RULES.digest,
    [header`t=${T},v1=${digest({ spelling: "base64url" })}`],
    "advice",
  ),
  refuses(
    "signature",
    {
      id: "signature.two-headers",
      title: "refuses two signature headers of which one is forged",
      level: "advice",
      spec: RULES.header,
      hint: "The service sends one. Look at the raw header list: many frameworks join repeated headers or keep one of them.",
    },
    ({ deliver, event }) => {
      const wrong = header`t=${T},v1=${UNRELATED}`;
      const right = header`t=${T},v1=${V1}`;
      return Promise.all([
        deliver(event(), { forged: true, signature: [wrong, right] }),
        deliver(event(), { forged: true, signature: [right, wrong] }),
      ]);
    },
  ),
];

/** A check that each of `headers` is refused. */
function forged(
  name: string,
  title: string,
  spec: Rule,
  headers: Part[][],
  level: Check["level"] = "must",
): Check {
  return refuses(
    "signature",
    { id: `signature.${name}`, title, level, spec, hint: HINTS[spec.section] ?? spec.text },
    ({ deliver, event }) =>
      Promise.all(headers.map((value) => deliver(event(), { forged: true, signature: [value] }))),
  );
}
