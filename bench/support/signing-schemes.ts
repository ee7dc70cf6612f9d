import { createHmac, randomUUID } from "node:crypto";
import { SIGNATURE_HEADER, sign } from "../../shared/signature.ts";

type Signing = { body: Buffer; secret: string; timestampSeconds: number };

/** The headers that a peer's own verification expects, by the name of its scheme. */
export function headersFor(scheme: string, signing: Signing): Record<string, string> {
  const { body, secret, timestampSeconds } = signing;
  switch (scheme) {
    case "github":
      return {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": randomUUID(),
        "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      };
    case "standard": {
      const id = randomUUID();
      const signed = createHmac("sha256", secret)
        .update(`${id}.${String(timestampSeconds)}.`)
        .update(body);
      return {
        "Webhook-Id": id,
        "Webhook-Timestamp": String(timestampSeconds),
        "Webhook-Signature": `v1,${signed.digest("base64")}`,
      };
    }
    default:
      return { [SIGNATURE_HEADER]: sign(signing) };
  }
}
