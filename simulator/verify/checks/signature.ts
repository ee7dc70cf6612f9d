import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { BODY, digest, header, moment, type Part, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Runs } from "../check.ts";
import type { DeliverOptions, Deliverable, Exchange } from "../delivery.ts";
import { accepted, refused, refusedCleanly } from "../judgement.ts";
import { gzipSync } from "node:zlib";

/** A signature of the same delivery with a secret that the receiver does not have. */
const OLD_SECRETS = digest({ key: "whsec_before_rotation" });

/** Valid in form, but over other data and with another key. */
const UNRELATED = digest({ message: ["x"], key: "wrong" });

/** Whether every honest form of a signature is accepted, and every header and body refused that the service did not sign. */
export const signatureRuns: Runs = {
  "signature.header-name-case": accepted(async ({ deliver, event }) => [
    await deliver(event(), { signatureHeaderName: "x-service-signature" }),
    await deliver(event(), { signatureHeaderName: "X-SERVICE-SIGNATURE" }),
  ]),
  "signature.key-order": accepted(({ deliver, event }) =>
    deliver(event(), { signature: [header`v1=${V1},t=${T}`] }),
  ),
  "signature.rotation": accepted(async ({ deliver, event }) => [
    await deliver(event(), { signature: [header`t=${T},v1=${OLD_SECRETS},v1=${V1}`] }),
    await deliver(event(), { signature: [header`t=${T},v1=${V1},v1=${OLD_SECRETS}`] }),
  ]),
  "signature.signed-just-now": accepted(({ clock, deliver, event }) => {
    // By the receiver's clock, as far as it is known.
    const aheadSeconds = Math.round(clock.known()?.most ?? 0);
    const ages = [8, -8, 200, -200].map((age) => age - aheadSeconds);
    return Promise.all(ages.map((ageSeconds) => deliver(event(), { ageSeconds })));
  }),
  // Forgeries in every form: a hook that verifies only JSON lets the others in.
  "signature.forged-text-plain": forged({ headers: [["Content-Type", "text/plain"]] }),
  "signature.forged-no-type": forged({ headers: [] }),
  "signature.forged-form-encoded": forged({
    headers: [["Content-Type", "application/x-www-form-urlencoded"]],
  }),
  "signature.forged-chunked": forged({ chunked: true }),
  "signature.forged-gzip": forged(
    {
      headers: [
        ["Content-Type", "application/json"],
        ["Content-Encoding", "gzip"],
      ],
    },
    gzipSync,
  ),
  "signature.forged-empty": forged({}, () => Buffer.alloc(0)),
  "signature.missing-header": refused(({ deliver, event }) =>
    deliver(event(), { forged: true, signature: [] }),
  ),
  "signature.empty-header": under([]),
  "signature.no-t": under(header`v1=${V1}`),
  "signature.empty-t": under(header`t=,v1=${digest({ message: [".", BODY] })}`),
  "signature.no-v1": under(header`t=${T}`),
  "signature.empty-v1": under(header`t=${T},v1=`),
  "signature.other-scheme": under(header`t=${T},v0=${V1}`),
  "signature.wrong-secret": refused(({ deliver, event }) =>
    deliver(event(), { secret: "whsec_of_somebody_else", forged: true }),
  ),
  "signature.empty-secret": refused(({ deliver, event }) => deliver(event(), { secret: "", forged: true })),
  "signature.changed-body": refused(async ({ deliver, event }) => {
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
    // A cached verdict for a header shows only after the genuine delivery has arrived.
    await deliver(envelope);
    return [...before, ...(await send({ note }))];
  }),
  "signature.borrowed": refused(async ({ deliver, event }) => {
    const lender = await deliver(event());
    const [, lent = ""] = lender.request.headers.find(([name]) => name === SIGNATURE_HEADER) ?? [];
    const note = "Under the signature header of another delivery, right after that was taken.";
    return [
      await deliver(event(), { signature: [[lent]], note, forged: true }),
      await deliver(event("voicemail.created"), { signature: [[lent]], note, forged: true }),
    ];
  }),
  "signature.changed-t": under(header`t=${T},v1=${digest({ message: [moment(2), ".", BODY] })}`),
  "signature.body-only": under(header`t=${T},v1=${digest({ message: [BODY] })}`),
  "signature.no-period": under(header`t=${T},v1=${digest({ message: [T, BODY] })}`),
  "signature.first-digit": under(header`t=${T},v1=${digest({ wrongDigit: "first" })}`),
  "signature.last-digit": under(header`t=${T},v1=${digest({ wrongDigit: "last" })}`),
  "signature.short-digest": under(
    ...[1, 2, 8, 32, 62, 63].map((keep) => header`t=${T},v1=${digest({ keep })}`),
  ),
  "signature.long-digest": under(
    header`t=${T},v1=${V1}0`,
    header`t=${T},v1=${V1}00`,
    header`t=${T},v1=${V1}${V1}`,
  ),
  "signature.not-hexadecimal": under(
    ...["z".repeat(64), "0".repeat(64), "undefined", "null", "0x", "%00"].map(
      (odd) => header`t=${T},v1=${odd}`,
    ),
  ),
  "signature.multibyte-digest": under(
    header`t=${T},v1=${Buffer.from("é".repeat(64), "latin1")}`,
    header`t=${T},v1=${"é".repeat(32)}`,
    header`t=${T},v1=${"é".repeat(64)}`,
  ),
  "signature.long-header": under(
    header`t=${T},v1=${"0".repeat(6_000)}`,
    [...header`t=${T}`, ...Array.from({ length: 60 }, () => header`,v1=${UNRELATED}`).flat()],
    header`t=${T},${",".repeat(4_000)}`,
  ),
  "signature.upper-case": under(header`t=${T},v1=${digest({ spelling: "upper-case hex" })}`),
  "signature.base64": under(header`t=${T},v1=${digest({ spelling: "base64url" })}`),
  "signature.refused-cleanly": async ({ deliver, event }) => {
    const forgeries: DeliverOptions[] = [
      { signature: [] },
      { signature: [header`t=${T},v1=zz`] },
      { secret: "whsec_of_somebody_else" },
      { ageSeconds: 3_600 },
    ];
    const sent = forgeries.map((forgery) => deliver(event(), { ...forgery, forged: true }));
    return refusedCleanly(await Promise.all(sent));
  },
  "signature.two-headers": refused(({ deliver, event }) => {
    const wrong = header`t=${T},v1=${UNRELATED}`;
    const right = header`t=${T},v1=${V1}`;
    return Promise.all([
      deliver(event(), { forged: true, signature: [wrong, right] }),
      deliver(event(), { forged: true, signature: [right, wrong] }),
    ]);
  }),
};

function under(...headers: Part[][]): Check["run"] {
  return refused(({ deliver, event }) =>
    Promise.all(headers.map((value) => deliver(event(), { forged: true, signature: [value] }))),
  );
}

/** A delivery in this form has to be refused, signed with another secret or not at all. */
function forged(
  form: Pick<DeliverOptions, "headers" | "chunked">,
  bodyOf?: (body: Buffer) => Buffer,
): Check["run"] {
  return refused(({ deliver, event }) => {
    const make = (): Deliverable => {
      const envelope = event();
      return bodyOf === undefined ? envelope : bodyOf(Buffer.from(JSON.stringify(envelope)));
    };
    return Promise.all([
      deliver(make(), { ...form, secret: "not-the-secret", forged: true }),
      deliver(make(), { ...form, signature: [], forged: true }),
    ]);
  });
}
