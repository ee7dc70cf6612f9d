import { Agent, request } from "undici";
import { z } from "zod";
import { PermanentFailure, RetryAfter, handlersWith } from "../../../receiver/work/handler.ts";

/** Runs once before the first event. What is missing is told of with this file and line, and tried again. */
export async function createServices() {
  const { SHOP_URL, SHOP_TOKEN } = z
    .object({ SHOP_URL: z.url(), SHOP_TOKEN: z.string().min(1) })
    .parse(process.env);
  const agent = new Agent({ connections: 10 });

  const send: Send = async (path, body, { key, signal }) => {
    const answer = await request(SHOP_URL + path, {
      dispatcher: agent,
      method: "POST",
      headers: {
        authorization: `Bearer ${SHOP_TOKEN}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
      signal,
    });
    const said = z.looseObject({}).parse(await answer.body.json());
    const { "retry-after": after } = answer.headers;
    if (answer.statusCode === 429) throw new RetryAfter(Number(after ?? 30));
    if (answer.statusCode >= 500) throw new Error(`${path} answered ${String(answer.statusCode)}`);
    if (answer.statusCode >= 400) throw new PermanentFailure(`${path} answered ${String(answer.statusCode)}`);
    return said;
  };
  return { services: { send, now: () => new Date() }, close: () => agent.close() };
}

type Send = (
  path: string,
  body: object,
  options: { key: string; signal: AbortSignal },
) => Promise<Record<string, unknown>>;

export const defineHandler = handlersWith<typeof createServices>();
