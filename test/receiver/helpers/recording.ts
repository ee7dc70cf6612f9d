import { ANSWERS } from "../../../receiver/intake/webhook.ts";
import type { Webhook, WebhookRequest } from "../../../receiver/intake/webhook.ts";

export type Seen = Omit<WebhookRequest, "readBody" | "header"> & {
  headers: Record<string, string | null | undefined>;
  body: string;
};

/** A webhook that keeps what was read of each request. */
export function recording() {
  const seen: Seen[] = [];
  const webhook: Webhook = async ({ readBody, header, ...request }, send) => {
    const body = await readBody();
    const names = ["traceparent", "content-encoding", "content-length"];
    const headers = Object.fromEntries(names.map((name) => [name, header(name) ?? undefined]));
    seen.push({ ...request, headers, body: body.ok ? Buffer.from(body.bytes).toString() : body.problem });
    send(ANSWERS.stored);
  };
  return { seen, webhook };
}

const HEADERS = { traceparent: "00-1", "content-encoding": "gzip", "content-length": "2" };

/** Headers of a request, and what the adapter should read from it. */
export const FULL = { "X-Service-Signature": "t=1,v1=a", ...HEADERS };
export const READ = {
  method: "POST",
  path: "/hooks",
  id: undefined,
  signatures: ["t=1,v1=a"],
  headers: HEADERS,
  body: "{}",
};
