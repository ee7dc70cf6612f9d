import { digest, header, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check } from "../check.ts";
import { accepts } from "../judge.ts";
import { RULES } from "../rules.ts";

/** A signature of the same delivery with a secret that the receiver does not have. */
const OLD_SECRETS = digest({ key: "whsec_before_rotation" });

/** Whether every honest form of the signature header is accepted. */
export const acceptedSignatureChecks: Check[] = [
  accepts(
    "signature",
    {
      id: "signature.header-name-case",
      title: "finds the signature header whatever the case of its name",
      level: "must",
      spec: RULES.http,
      hint: "HTTP header names compare without regard to case; read it through your framework's header lookup.",
    },
    async ({ deliver, event }) => [
      await deliver(event(), { signatureHeaderName: "x-service-signature" }),
      await deliver(event(), { signatureHeaderName: "X-SERVICE-SIGNATURE" }),
    ],
  ),
  accepts(
    "signature",
    {
      id: "signature.key-order",
      title: "accepts v1 before t",
      level: "advice",
      spec: RULES.header,
      hint: "Read the header as key=value pairs, not by position.",
    },
    ({ deliver, event }) => deliver(event(), { signature: [header`v1=${V1},t=${T}`] }),
  ),
  accepts(
    "signature",
    {
      id: "signature.rotation",
      title: "accepts several v1 of which one matches",
      level: "advice",
      spec: RULES.header,
      hint: "While a secret is rotated a sender may sign with both: try every v1 before refusing.",
    },
    async ({ deliver, event }) => [
      await deliver(event(), { signature: [header`t=${T},v1=${OLD_SECRETS},v1=${V1}`] }),
      await deliver(event(), { signature: [header`t=${T},v1=${V1},v1=${OLD_SECRETS}`] }),
    ],
  ),
  accepts(
    "signature",
    {
      id: "signature.signed-just-now",
      title: "accepts a delivery signed a few seconds ago or ahead",
      level: "must",
      spec: RULES.tolerance,
      hint: "Clocks differ and networks take time: the window is 300 s on both sides.",
    },
    ({ clock, deliver, event }) => {
      // By the receiver's clock, as far as it is known.
      const aheadSeconds = Math.round(clock.known()?.most ?? 0);
      return Promise.all(
        [8, -8, 200, -200].map((age) => deliver(event(), { ageSeconds: age - aheadSeconds })),
      );
    },
  ),
];
