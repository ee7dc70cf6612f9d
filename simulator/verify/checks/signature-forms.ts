import { gzipSync } from "node:zlib";
import { digest, header, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Runs } from "../check.ts";
import type { Deliverable, DeliverOptions } from "../delivery.ts";
import { accepted, refused } from "../judgement.ts";

/** A signature of the same delivery with a secret that the receiver does not have. */
const OLD_SECRETS = digest({ key: "whsec_before_rotation" });

/** Whether every honest form of a delivery is accepted, and every form of a forged one refused. */
export const signatureFormRuns: Runs = {
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
  // Forgeries, in every form: a hook that verifies JSON alone lets the others in.
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
};

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
