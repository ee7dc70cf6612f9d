import { ANSWERS } from "../../../receiver/intake/answers.ts";
import type { Webhook, WebhookRequest } from "../../../receiver/intake/webhook.ts";

/** A webhook that keeps what was read of each request. */
export function recording() {
  const seen: (Omit<WebhookRequest, "readBody"> & { body: string })[] = [];
  const webhook: Webhook = async ({ readBody, ...request }, send) => {
    const body = await readBody();
    seen.push({ ...request, body: body.ok ? Buffer.from(body.bytes).toString() : body.problem });
    send(ANSWERS.stored);
  };
  return { seen, webhook };
}

/** Headers of a request, what is to be read of it, and what of one without them. */
export const FULL = {
  "X-Service-Signature": "t=1,v1=a",
  traceparent: "00-1",
  "content-encoding": "gzip",
  "content-length": "2",
};
export const READ = {
  method: "POST",
  path: "/hooks",
  id: undefined,
  signatures: ["t=1,v1=a"],
  traceparent: "00-1",
  encoding: "gzip",
  announcedBytes: 2,
  body: "{}",
};
export const NOTHING = { signatures: [], announcedBytes: undefined, body: "{}" };
