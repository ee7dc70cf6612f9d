import type { Check } from "../check.ts";
import type { SignatureParts } from "../delivery.ts";
import { refuses } from "../judge.ts";
import { type Rule, RULES } from "../rules.ts";

type Header = (parts: SignatureParts) => string | Buffer;

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
    ({ deliver, event }) => deliver(event(), { forged: true, signature: () => [] }),
  ),
  forged("empty-header", "refuses an empty signature header", RULES.missing, [() => ""]),
  forged("no-t", "refuses a header without t", RULES.missing, [({ v1 }) => `v1=${v1}`]),
  forged("empty-t", "refuses an empty t, though the rest is signed", RULES.missing, [
    ({ body, digest }) => `t=,v1=${digest(Buffer.concat([Buffer.from("."), body]))}`,
  ]),
  forged("no-v1", "refuses a header without v1", RULES.missing, [({ t }) => `t=${t}`]),
  forged("empty-v1", "refuses an empty v1", RULES.missing, [({ t }) => `t=${t},v1=`]),
  forged("other-scheme", "refuses a right digest under another key than v1", RULES.missing, [
    ({ t, v1 }) => `t=${t},v0=${v1}`,
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
      // The genuine one goes first, so that a verdict remembered for its header would be found out.
      await deliver(envelope);
      const places = [body.indexOf("evt_") + 4, body.indexOf("Caller"), body.lastIndexOf("org_") + 4];
      return Promise.all(
        places.map((at) => {
          const changed = Buffer.from(body);
          changed[at] = changed[at] === 0x61 ? 0x62 : 0x61;
          return deliver(changed, { signedBody: body, forged: true });
        }),
      );
    },
  ),
  forged("changed-t", "refuses a t that was changed after signing", RULES.signedString, [
    ({ t, body, digest }) => `t=${t},v1=${digest(Buffer.concat([Buffer.from(`${Number(t) - 2}.`), body]))}`,
  ]),
  forged("body-only", "refuses a digest over the body alone", RULES.signedString, [
    ({ t, body, digest }) => `t=${t},v1=${digest(body)}`,
  ]),
  forged("no-period", "refuses a digest over t and body without the period", RULES.signedString, [
    ({ t, body, digest }) => `t=${t},v1=${digest(Buffer.concat([Buffer.from(t), body]))}`,
  ]),
  forged("first-digit", "refuses a digest whose first digit is wrong", RULES.compare, [
    ({ t, v1 }) => `t=${t},v1=${otherDigit(v1.slice(0, 1))}${v1.slice(1)}`,
  ]),
  forged("last-digit", "refuses a digest whose last digit is wrong", RULES.compare, [
    ({ t, v1 }) => `t=${t},v1=${v1.slice(0, -1)}${otherDigit(v1.slice(-1))}`,
  ]),
  {
    ...forged(
      "short-digest",
      "refuses a digest that was cut short",
      RULES.compare,
      [1, 2, 8, 32, 62, 63].map(
        (length): Header =>
          ({ t, v1 }) =>
            `t=${t},v1=${v1.slice(0, length)}`,
      ),
    ),
    phase: "alone",
  },
  {
    ...forged("long-digest", "refuses a digest with more behind it", RULES.compare, [
      ({ t, v1 }) => `t=${t},v1=${v1}0`,
      ({ t, v1 }) => `t=${t},v1=${v1}00`,
      ({ t, v1 }) => `t=${t},v1=${v1}${v1}`,
    ]),
    phase: "alone",
  },
  {
    ...forged(
      "not-hexadecimal",
      "refuses a digest that is not hexadecimal",
      RULES.digest,
      ["z".repeat(64), "0".repeat(64), "undefined", "null", "0x", "%00"].map(
        (odd): Header =>
          ({ t }) =>
            `t=${t},v1=${odd}`,
      ),
    ),
    phase: "alone",
  },
  {
    ...forged("multibyte-digest", "refuses a digest of characters beyond ASCII", RULES.compare, [
      ({ t }) => Buffer.from(`t=${t},v1=${"é".repeat(64)}`, "latin1"),
      ({ t }) => Buffer.from(`t=${t},v1=${"é".repeat(32)}`, "utf8"),
      ({ t }) => Buffer.from(`t=${t},v1=${"é".repeat(64)}`, "utf8"),
    ]),
    phase: "alone",
  },
  {
    ...forged("long-header", "refuses a signature header of thousands of characters", RULES.compare, [
      ({ t }) => `t=${t},v1=${"0".repeat(6_000)}`,
      ({ t, digest }) => `t=${t}${`,v1=${digest("x", "wrong")}`.repeat(60)}`,
      ({ t }) => `t=${t},${",".repeat(4_000)}`,
    ]),
    phase: "alone",
  },
  forged(
    "upper-case",
    "refuses a digest in upper case",
    RULES.digest,
    [({ t, v1 }) => `t=${t},v1=${v1.toUpperCase()}`],
    "advice",
  ),
  forged(
    "base64",
    "refuses a digest in base64",
    RULES.digest,
    [({ t, v1 }) => `t=${t},v1=${Buffer.from(v1, "hex").toString("base64url")}`],
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
      const wrong: Header = ({ t, digest }) => `t=${t},v1=${digest("x", "wrong")}`;
      const right: Header = ({ t, v1 }) => `t=${t},v1=${v1}`;
      return Promise.all([
        deliver(event(), { forged: true, signature: (parts) => [wrong(parts), right(parts)] }),
        deliver(event(), { forged: true, signature: (parts) => [right(parts), wrong(parts)] }),
      ]);
    },
  ),
];

/** A check that each of `headers` is refused. */
function forged(
  name: string,
  title: string,
  spec: Rule,
  headers: Header[],
  level: Check["level"] = "must",
): Check {
  return refuses(
    "signature",
    { id: `signature.${name}`, title, level, spec, hint: HINTS[spec.section] ?? spec.text },
    ({ deliver, event }) =>
      Promise.all(
        headers.map((header) => deliver(event(), { forged: true, signature: (parts) => [header(parts)] })),
      ),
  );
}

function otherDigit(digit: string): string {
  return digit === "0" ? "1" : "0";
}
