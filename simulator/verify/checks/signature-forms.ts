import { gzipSync } from "node:zlib";
import { digest, header, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check } from "../check.ts";
import type { Deliverable, DeliverOptions } from "../delivery.ts";
import { accepted, checksOf, refused } from "../judge.ts";
import { RULES } from "../rules.ts";

/** A signature of the same delivery with a secret that the receiver does not have. */
const OLD_SECRETS = digest({ key: "whsec_before_rotation" });

/** Whether every honest form of the signature header is accepted. */
export const acceptedSignatureChecks: Check[] = checksOf(
  "signature",
  { spec: RULES.header, hint: "Read the header as key=value pairs, not by position." },
  {
    "header-name-case": {
      title: "finds the signature header whatever the case of its name",
      spec: RULES.http,
      hint: "HTTP header names compare without regard to case; read it through your framework's header lookup.",
      run: accepted(async ({ deliver, event }) => [
        await deliver(event(), { signatureHeaderName: "x-service-signature" }),
        await deliver(event(), { signatureHeaderName: "X-SERVICE-SIGNATURE" }),
      ]),
    },
    "key-order": {
      title: "accepts v1 before t",
      level: "advice",
      run: accepted(({ deliver, event }) => deliver(event(), { signature: [header`v1=${V1},t=${T}`] })),
    },
    rotation: {
      title: "accepts several v1 of which one matches",
      level: "advice",
      hint: "While a secret is rotated a sender may sign with both: try every v1 before refusing.",
      run: accepted(async ({ deliver, event }) => [
        await deliver(event(), { signature: [header`t=${T},v1=${OLD_SECRETS},v1=${V1}`] }),
        await deliver(event(), { signature: [header`t=${T},v1=${V1},v1=${OLD_SECRETS}`] }),
      ]),
    },
    "signed-just-now": {
      title: "accepts a delivery signed a few seconds ago or ahead",
      spec: RULES.tolerance,
      hint: "Clocks differ and networks take time: the window is 300 s on both sides.",
      run: accepted(({ clock, deliver, event }) => {
        // By the receiver's clock, as far as it is known.
        const aheadSeconds = Math.round(clock.known()?.most ?? 0);
        const ages = [8, -8, 200, -200].map((age) => age - aheadSeconds);
        return Promise.all(ages.map((ageSeconds) => deliver(event(), { ageSeconds })));
      }),
    },
  },
);

const usual = {
  spec: RULES.forged,
  hint:
    "Verify in the route itself, over whatever body there is: a hook of a body parser runs only for the requests that it parses, " +
    "and what it passes over arrives unverified.",
  phase: "alone" as const,
};

/** Whether forgeries are refused in every form: a hook that verifies JSON alone lets the others in. */
export const formSignatureChecks: Check[] = checksOf("signature", usual, {
  "forged-text-plain": {
    title: "refuses a forged body under text/plain",
    run: forged({ headers: [["Content-Type", "text/plain"]] }),
  },
  "forged-no-type": {
    title: "refuses a forged body without Content-Type",
    run: forged({ headers: [] }),
  },
  "forged-form-encoded": {
    title: "refuses a forged body under the type of a form",
    run: forged({ headers: [["Content-Type", "application/x-www-form-urlencoded"]] }),
  },
  "forged-chunked": {
    title: "refuses a forged body in chunks",
    run: forged({ chunked: true }),
  },
  "forged-gzip": {
    title: "refuses a forged body that is compressed",
    run: forged(
      {
        headers: [
          ["Content-Type", "application/json"],
          ["Content-Encoding", "gzip"],
        ],
      },
      gzipSync,
    ),
  },
  "forged-empty": {
    title: "refuses a forged delivery without body",
    run: forged({}, () => Buffer.alloc(0)),
  },
});

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
