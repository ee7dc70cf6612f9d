import { request } from "undici";
import { dead, openInbox, type Inbox } from "./inbox.ts";

/** An operator's browser, and an inbox to look at. */

type Answer = {
  status: number;
  text: string;
  location: string | undefined;
  headers: Record<string, unknown>;
};

export async function get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  return answerTo(await request(url, { headers }));
}

/** Confirms a question as a browser does: a form without an action goes to the address of its page. */
export async function post(
  url: string,
  { reason = "a test", total = "all", ...asked }: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { origin } = new URL(url);
  const body = new URLSearchParams({ reason, total }).toString();
  const form = { "content-type": "application/x-www-form-urlencoded", origin, ...headers };
  const question = `${url}?${new URLSearchParams(asked).toString()}`;
  return answerTo(await request(question, { method: "POST", headers: form, body }));
}

async function answerTo({ statusCode, headers, body }: Awaited<ReturnType<typeof request>>): Promise<Answer> {
  const { location } = headers;
  return {
    status: statusCode,
    text: await body.text(),
    location: typeof location === "string" ? location : undefined,
    headers,
  };
}

/** The visible text of a page. */
export function words({ text }: Answer): string {
  return text
    .replace(/<style>.*<\/style>/s, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .replaceAll("&#60;", "<")
    .replaceAll("&#62;", ">");
}

/** Events: three dead of two causes, one discarded, one that failed once, one that no handler wanted. */
export async function troubled(): Promise<
  Inbox & { unknown: string[]; crashed: string; failing: string; unwanted: string }
> {
  const inbox = await openInbox();
  const unknown = [
    await inbox.handled(dead("Customer 1234567 is unknown")),
    await inbox.handled(dead("Customer 7654321 is unknown")),
  ];
  const crashed = await inbox.handled(dead("HTTP 500"), { handler: "kitchen", type: "order.created" });
  const failing = await inbox.handled({ kind: "failed", error: "timed out", delayMs: 3_600_000 });
  const unwanted = await inbox.stored({ type: "agent.created" });
  return { ...inbox, unknown, crashed, failing, unwanted };
}
