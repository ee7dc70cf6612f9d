import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { FORGERY_WORDS } from "../../domain/judgement.ts";
import { BODY, digest, header, moment, type Part, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Level, Named } from "../check.ts";
import type { DeliverOptions, Exchange } from "../delivery.ts";
import { refusedCleanly, refuses } from "../judge.ts";
import { RULES } from "../rules.ts";

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
  forged({ name: "empty-header", title: "refuses an empty signature header", spec: RULES.missing }, [[]]),
  forged({ name: "no-t", title: "refuses a header without t", spec: RULES.missing }, [header`v1=${V1}`]),
  forged({ name: "empty-t", title: "refuses an empty t, though the rest is signed", spec: RULES.missing }, [
    header`t=,v1=${digest({ message: [".", BODY] })}`,
  ]),
  forged({ name: "no-v1", title: "refuses a header without v1", spec: RULES.missing }, [header`t=${T}`]),
  forged({ name: "empty-v1", title: "refuses an empty v1", spec: RULES.missing }, [header`t=${T},v1=`]),
  forged(
    { name: "other-scheme", title: "refuses a right digest under another key than v1", spec: RULES.missing },
    [header`t=${T},v0=${V1}`],
  ),
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
  forged(
    { name: "changed-t", title: "refuses a t that was changed after signing", spec: RULES.signedString },
    [header`t=${T},v1=${digest({ message: [moment(2), ".", BODY] })}`],
  ),
  forged({ name: "body-only", title: "refuses a digest over the body alone", spec: RULES.signedString }, [
    header`t=${T},v1=${digest({ message: [BODY] })}`,
  ]),
  forged(
    {
      name: "no-period",
      title: "refuses a digest over t and body without the period",
      spec: RULES.signedString,
    },
    [header`t=${T},v1=${digest({ message: [T, BODY] })}`],
  ),
  forged({ name: "first-digit", title: "refuses a digest whose first digit is wrong", spec: RULES.compare }, [
    header`t=${T},v1=${digest({ wrongDigit: "first" })}`,
  ]),
  forged({ name: "last-digit", title: "refuses a digest whose last digit is wrong", spec: RULES.compare }, [
    header`t=${T},v1=${digest({ wrongDigit: "last" })}`,
  ]),
  {
    ...forged(
      { name: "short-digest", title: "refuses a digest that was cut short", spec: RULES.compare },
      [1, 2, 8, 32, 62, 63].map((keep) => header`t=${T},v1=${digest({ keep })}`),
    ),
    phase: "alone",
  },
  {
    ...forged({ name: "long-digest", title: "refuses a digest with more behind it", spec: RULES.compare }, [
      header`t=${T},v1=${V1}0`,
      header`t=${T},v1=${V1}00`,
      header`t=${T},v1=${V1}${V1}`,
    ]),
    phase: "alone",
  },
  {
    ...forged(
      { name: "not-hexadecimal", title: "refuses a digest that is not hexadecimal", spec: RULES.digest },
      ["z".repeat(64), "0".repeat(64), "undefined", "null", "0x", "%00"].map(
        (odd) => header`t=${T},v1=${odd}`,
      ),
    ),
    phase: "alone",
  },
  {
    ...forged(
      { name: "multibyte-digest", title: "refuses a digest of characters beyond ASCII", spec: RULES.compare },
      [
        header`t=${T},v1=${Buffer.from("é".repeat(64), "latin1")}`,
        header`t=${T},v1=${"é".repeat(32)}`,
        header`t=${T},v1=${"é".repeat(64)}`,
      ],
    ),
    phase: "alone",
  },
  {
    ...forged(
      {
        name: "long-header",
        title: "refuses a signature header of thousands of characters",
        spec: RULES.compare,
      },
      [
        header`t=${T},v1=${"0".repeat(6_000)}`,
        [...header`t=${T}`, ...Array.from({ length: 60 }, () => header`,v1=${UNRELATED}`).flat()],
        header`t=${T},${",".repeat(4_000)}`,
      ],
    ),
    phase: "alone",
  },
  forged(
    { name: "upper-case", title: "refuses a digest in upper case", spec: RULES.digest, level: "advice" },
    [header`t=${T},v1=${digest({ spelling: "upper-case hex" })}`],
  ),
  forged({ name: "base64", title: "refuses a digest in base64", spec: RULES.digest, level: "advice" }, [
    header`t=${T},v1=${digest({ spelling: "base64url" })}`,
  ]),
  {
    id: "signature.refused-cleanly",
    title: "answers what the service did not sign without a redirect or an error of its own",
    level: FORGERY_WORDS.failed.level,
    group: "signature",
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
  { name, title, spec, level = "must" }: Named<"title" | "spec"> & { level?: Level },
  headers: Part[][],
): Check {
  return refuses(
    "signature",
    { id: `signature.${name}`, title, level, spec, hint: HINTS[spec.section] ?? spec.text },
    ({ deliver, event }) =>
      Promise.all(headers.map((value) => deliver(event(), { forged: true, signature: [value] }))),
  );
}
