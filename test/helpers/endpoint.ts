import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { parseSignature } from "../../shared/signature.ts";
import { listen } from "./listen.ts";

/** A request as it was on the wire. */
export type Received = {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  signature: string;
  t: number;
};

/** A status to answer, or what to do with the response; the second argument counts requests from 1. */
export type Behaviour = number | ((response: ServerResponse, count: number, request: Received) => void);

/** An endpoint that records what it gets. It is closed when the test is over. */
export async function startEndpoint(initial: Behaviour = 200) {
  let behaviour = initial;
  const received: Received[] = [];
  const waiters: { count: number; resolve: () => void }[] = [];

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const signature = String(request.headers["x-service-signature"]);
      const parsed = parseSignature([signature]);
      const t = parsed.ok ? Number(parsed.timestamp) : Number.NaN;
      const entry = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks),
        signature,
        t,
      };
      received.push(entry);
      for (const waiter of waiters) if (received.length >= waiter.count) waiter.resolve();
      if (typeof behaviour === "number") response.writeHead(behaviour).end();
      else behaviour(response, received.length, entry);
    });
  });
  const { url, port, close } = await listen(server);

  return {
    url: `${url}/webhooks`,
    port,
    received,
    behave(next: Behaviour): void {
      behaviour = next;
    },
    /** Resolves when `count` requests have arrived in total. */
    async until(count: number): Promise<void> {
      if (received.length >= count) return;
      await new Promise<void>((resolve) => waiters.push({ count, resolve }));
    },
    close,
  };
}
