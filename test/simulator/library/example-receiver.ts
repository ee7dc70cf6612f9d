import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Stands for the receiver of an integrator: it calls customers back, once for each voicemail. */
export async function startReceiver(options: { secret: string; callBack: (phone: string) => Promise<void> }) {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.writeHead(500).end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (!isGenuine(String(request.headers["x-service-signature"]), body)) {
      response.writeHead(401).end();
      return;
    }
    const event = JSON.parse(body.toString());
    if (!seen.has(event.id)) await options.callBack(event.data.object.phone);
    seen.add(event.id);
    response.writeHead(200).end();
  }

  function isGenuine(header: string, body: Buffer): boolean {
    const [, t = "", v1 = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
    const expected = createHmac("sha256", options.secret).update(`${t}.`).update(body).digest();
    const isFresh = Math.abs(Date.now() / 1000 - Number(t)) <= 301;
    return isFresh && v1 !== "" && timingSafeEqual(Buffer.from(v1, "hex"), expected);
  }

  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
