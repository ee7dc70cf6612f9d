// A correct receiver in plain node:http. The counts are read back at /handled/{event id}.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { eventId, verified } from "./signature.ts";

const { PORT, SIGNING_SECRET = "" } = process.env;
const seen = new Map<string, number>();

createServer((request, response) => void receive(request, response)).listen(Number(PORT), "127.0.0.1");

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = (status: number, body: object = {}): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const { method, url = "" } = request;
  if (method === "GET" && url.startsWith("/handled/")) {
    return answer(200, { handled: seen.get(url.slice("/handled/".length)) ?? 0 });
  }
  if (method !== "POST") return answer(405);

  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) if (chunk instanceof Buffer) chunks.push(chunk);
  } catch {
    return undefined; // The client is gone.
  }
  const body = Buffer.concat(chunks);
  const headers = request.headersDistinct["x-service-signature"] ?? [];
  if (!verified(headers, body, SIGNING_SECRET)) return answer(401);
  const id = eventId(body);
  if (id === undefined) return answer(400);

  if (!seen.has(id)) {
    seen.set(id, 0);
    setImmediate(() => seen.set(id, (seen.get(id) ?? 0) + 1));
  }
  return answer(200);
}
