import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Server } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { probeReceiver } from "../../../simulator/processes/receiver-probe.ts";
import { listen } from "../../helpers/listen.ts";

/** Answers each path of `routes` with its status, and every other with 404, or with that of `*`. */
async function probeOf(routes: Record<string, number>) {
  const seen: { line: string; headers: IncomingMessage["headers"] }[] = [];
  const listener: RequestListener = (request, response) => {
    seen.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    response.writeHead(routes[request.url ?? ""] ?? routes["*"] ?? 404, { location: "/webhooks" }).end("x");
  };
  const { port } = await listen(createServer(listener));
  const probe = await probeReceiver({ host: "127.0.0.1", port });
  return { probe, port, seen };
}

describe("what is found at a port", () => {
  test.each([
    ["a receiver that checks signatures", { "/webhooks": 401 }, "refuses_unsigned", "/webhooks", 401],
    ["one that wants a body first", { "/webhook": 400 }, "refuses_unsigned", "/webhook", 400],
    ["one that takes everything", { "/api/webhook": 204 }, "takes_unsigned", "/api/webhook", 204],
    ["one that breaks", { "/hooks": 500 }, "fails", "/hooks", 500],
    ["one at the root", { "/": 403 }, "refuses_unsigned", "/", 403],
    [
      "a page at the root beside a receiver",
      { "/": 200, "/webhook": 401 },
      "refuses_unsigned",
      "/webhook",
      401,
    ],
    [
      "a path that breaks beside one that refuses",
      { "/webhooks": 500, "/hooks": 401 },
      "refuses_unsigned",
      "/hooks",
      401,
    ],
    ["the likelier of two", { "/webhook": 401, "/webhooks": 401 }, "refuses_unsigned", "/webhooks", 401],
    [
      "a receiver below a page for everything",
      { "*": 200, "/webhooks": 401 },
      "refuses_unsigned",
      "/webhooks",
      401,
    ],
    ["a refusal at every path", { "*": 401 }, "everywhere", "/webhooks", 401],
    ["a page at every path", { "*": 200 }, "everywhere", "/webhooks", 200],
    ["pages that only redirect", { "*": 302 }, "no_path", "/webhooks", 302],
    ["pages that are only read", { "*": 405 }, "no_path", "/webhooks", 405],
    ["no path of the usual ones", {}, "no_path", "/webhooks", 404],
  ] as const)("%s", async (_what, routes, finding, path, status) => {
    const { probe, port } = await probeOf(routes);
    expect(probe).toMatchObject({ finding, url: `http://127.0.0.1:${port}${path}`, status });
    expect(probe.sentence).toContain(finding === "no_path" ? "/webhooks, /webhook" : String(status));
  });

  test("a server that does not speak HTTP", async () => {
    const { port } = await listen(createTcpServer((socket) => void socket.end("220 mail ready\r\n")));
    expect(await probeReceiver({ host: "127.0.0.1", port })).toMatchObject({
      finding: "not_http",
      status: null,
    });
  });
});

test("a port that browsers block is probed like any other", async () => {
  const server = createServer((_request, response) => void response.writeHead(401).end());
  onTestFinished(() => void server.close());
  const port = await firstFree(server, [6665, 6666, 6667, 6668, 6669, 6697]);
  expect(await probeReceiver({ host: "127.0.0.1", port })).toMatchObject({
    finding: "everywhere",
    status: 401,
  });
});

async function firstFree(server: Server, ports: readonly number[]): Promise<number> {
  for (const port of ports) {
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (isFree) return port;
  }
  throw new Error("somebody has all of these ports");
}

test("probes contain no event, and stop when the path is found", async () => {
  const { seen } = await probeOf({ "/webhook": 401, "/hooks": 401 });
  expect(seen.map(({ line }) => line)).toEqual([
    "POST /.voice-agent-simulator/nothing-is-here",
    "POST /webhooks",
    "POST /webhook",
  ]);
  for (const { headers } of seen) {
    expect(headers["content-length"]).toBe("0");
    expect(Object.keys(headers).filter((name) => name.startsWith("x-"))).toEqual([]);
    expect(headers["user-agent"]).toContain("looks for a receiver");
  }
});
