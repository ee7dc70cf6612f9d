import express from "express";
import { once } from "node:events";
import { createServer, request as ask, type IncomingMessage } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { createMiddleware, pathOf, type Middleware } from "../../../receiver/intake/adapters.ts";
import { createBodyReader } from "../../../receiver/intake/body.ts";
import { listen } from "../../helpers/listen.ts";
import { FULL, READ, recording } from "../helpers/recording.ts";

/** The adapters read the same parts of a request from every kind of request object. */

const body = createBodyReader({ maxBodyBytes: 100, clock: systemClock });

async function throughNode(
  headers: Record<string, string | string[]>,
  options: { added?: object; draining?: boolean; before?: (request: IncomingMessage) => void } = {},
) {
  const { seen, webhook } = recording();
  const middleware = createMiddleware(webhook, body, () => options.draining ?? false);
  const { port } = await listen(
    createServer((request, response) => {
      for (const [name, value] of Object.entries(options.added ?? {}))
        Object.defineProperty(request, name, { value });
      options.before?.(request);
      void middleware(request, response);
    }),
  );
  const answer = await new Promise<Record<string, unknown>>((resolve, reject) => {
    ask({ port, host: "127.0.0.1", method: "POST", path: "/hooks?key=1", headers }, (response) => {
      response.resume().once("end", () => resolve({ status: response.statusCode, ...response.headers }));
    })
      .once("error", reject)
      .end("{}");
  });
  return { seen: seen[0], answer };
}

test("the parts of a webhook are read from node:http's requests, and nothing where one is missing", async () => {
  expect((await throughNode(FULL)).seen).toMatchObject(READ);
  const { seen } = await throughNode({ "transfer-encoding": "chunked" });
  expect(seen).toMatchObject({ signatures: [], headers: {}, body: "{}" });
});

test("the same parts are read from HTTP/2's requests", async () => {
  const { seen, webhook } = recording();
  const middleware = createMiddleware(webhook, body, () => true);
  const server = createHttp2Server((request, response) => void middleware(request, response)).listen(0);
  await once(server, "listening");
  const address = server.address();
  const client = connect(`http://localhost:${typeof address === "object" && address ? address.port : 0}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const request = client.request({ ":method": "POST", ":path": "/hooks?key=1", ...FULL }).end("{}");
  const [headers] = (await once(request, "response")) as [Record<string, unknown>];
  expect([headers[":status"], await text(request)]).toEqual([200, '{"received":true,"duplicate":false}']);
  expect(seen).toMatchObject([READ]);
});

test("signature headers stay separate, also those of an imitated request", async () => {
  const two = { "x-service-signature": ["t=1", "t=2"], "content-length": "2" };
  expect((await throughNode(two)).seen?.signatures).toEqual(["t=1", "t=2"]);
  const added = { headersDistinct: {}, headers: { "X-Service-Signature": "t=3" } };
  expect((await throughNode({}, { added })).seen?.signatures).toEqual(["t=3"]);
});

test.each([
  ["a text", "a text"],
  [0, "0"],
  [null, undefined],
  [{ id: 7 }, undefined],
])("the app's request id %o is read as %o", async (id, expected) => {
  expect((await throughNode(FULL, { added: { id } })).seen?.id).toBe(expected);
});

const bytes = (content: string): Uint8Array => Buffer.from(content);
const buffer = new Uint8Array(bytes("raw")).buffer;

/** What body parsers leave on the request: the signed bytes, or a text or an object made from them. */
test.each<[object, string]>([
  [{ rawBody: bytes("raw"), body: bytes("inflated") }, "raw"],
  [{ rawBody: buffer, body: { made: "of it" } }, "raw"],
  [{ rawBody: new DataView(buffer) }, "raw"],
  [{ rawBody: "a text", body: bytes("bytes") }, "bytes"],
  [{ rawBody: "a text", readableDidRead: true }, "a text"],
  [{ rawBody: "no \uFFFD bytes", readableDidRead: true }, "no_bytes"],
  [{ body: new Uint8Array() }, ""],
  [{ body: {} }, "{}"],
  [{ body: bytes("x".repeat(100)) }, "x".repeat(100)],
  [{ rawBody: bytes("x".repeat(101)), body: bytes("x") }, "too_large"],
  [{ rawBody: "x".repeat(101) }, "too_large"],
  [{ readableDidRead: true, body: { made: "of it" } }, "no_bytes"],
  [{ readableDidRead: true, rawBody: bytes("raw") }, "raw"],
  [{ readableDidRead: undefined, body: { made: "of it" } }, "no_bytes"],
  // Nitro's requests on serverless platforms, which keep their bodies elsewhere.
  [{ readableDidRead: false, readableEnded: true }, "no_bytes"],
])("of a request with %o the body is taken for %o", async (added, expected) => {
  expect((await throughNode(FULL, { added })).seen?.body).toBe(expected);
});

test("a request whose body was decoded by a parser has no bytes, and gets an answer", async () => {
  const { seen, answer } = await throughNode(FULL, { before: (request) => request.setEncoding("utf8") });
  expect([seen?.body, answer["status"]]).toEqual(["no_bytes", 200]);
});

/** How apps mount it, and which requests it then answers; it passes on the others. */
test.each<[string, (app: express.Express, middleware: Middleware) => unknown, object]>([
  [
    "app.use(path)",
    (app, middleware) => app.use("/hooks", middleware),
    { "/hooks": "/hooks", "/hooks?a=1": "/hooks", "/hooks/": "/hooks/", "/hooks/more": 404, "/else": 404 },
  ],
  ["app.use()", (app, middleware) => app.use(middleware), { "/": "/", "/hooks/more?a=1": "/hooks/more" }],
  [
    "app.post(path)",
    (app, middleware) => app.post("/hooks", middleware),
    { "/hooks?a=1": "/hooks", "/hooks/more": 404 },
  ],
  [
    "a router at a path",
    (app, middleware) => app.use("/api", express.Router().post("/hooks", middleware)),
    { "/api/hooks?a=1": "/api/hooks", "/hooks": 404 },
  ],
])("mounted by %s it takes its own requests, and reports their whole path", async (_how, mount, expected) => {
  const { seen, webhook } = recording();
  const app = express();
  const middleware = createMiddleware(webhook, body, () => false);
  mount(app, middleware);
  const { url } = await listen(createServer(app));
  const answers: Record<string, unknown> = {};
  for (const path of Object.keys(expected)) {
    const { status } = await fetch(url + path, { method: "POST", body: "{}" });
    answers[path] = seen.splice(0)[0]?.path ?? status;
  }
  expect(answers).toEqual(expected);
});

test.each([true, false])("while it drains (%s) connections are closed behind answers", async (draining) => {
  const { answer } = await throughNode(FULL, { draining });
  expect(answer["connection"]).toBe(draining ? "close" : "keep-alive");
});

test.each([
  [undefined, "/"],
  ["/hooks?a=/b?c", "/hooks"],
  ["HTTPS://kit.test/hooks?a=b", "/hooks"],
  ["http://kit.test", ""],
  ["ftp://kit.test/hooks", "ftp://kit.test/hooks"],
  ["*", "*"],
])("the path of %o is %o", (url, path) => {
  expect(pathOf({ url })).toBe(path);
});

test("an app that has answered keeps its answer, and a later failure is not our error", async () => {
  const { seen, webhook } = recording();
  const middleware = createMiddleware(webhook, body, () => false);
  const ended = Promise.withResolvers<void>();
  const { url } = await listen(
    createServer((request, response) => {
      response.writeHead(504).end("too late");
      middleware(request, response).then(ended.resolve, ended.reject);
      expect(() => response.emit("error", new Error("reset"))).not.toThrow();
    }),
  );
  const answer = await fetch(url, { method: "POST", body: "{}" });
  expect([answer.status, await answer.text()]).toEqual([504, "too late"]);
  await ended.promise;
  expect(seen).toMatchObject([{ body: "{}" }]);
});

test.each(["{", "{}"])(
  "a client that disconnects before its request arrives here, after %o, keeps no resources",
  async (sent) => {
    const { seen, webhook } = recording();
    const middleware = createMiddleware(webhook, body, () => false);
    const [arrived, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { port } = await listen(
      createServer((request, response) => {
        request.once("close", () => void middleware(request, response).then(taken.resolve, taken.reject));
        arrived.resolve();
      }),
    );
    const client = ask({ port, host: "127.0.0.1", method: "POST", headers: { "content-length": "2" } });
    client.on("error", () => undefined).write(sent);
    await arrived.promise;
    client.destroy();
    await taken.promise;
    expect(seen).toMatchObject([{ body: "incomplete" }]);
  },
);

test("a request that the app has paused before is still read", async () => {
  const { seen } = await throughNode({}, { before: (request) => void request.pause() });
  expect(seen?.body).toBe("{}");
});

test("an empty body that was read before is still empty", async () => {
  const { seen, webhook } = recording();
  const middleware = createMiddleware(webhook, body, () => false);
  const { url } = await listen(
    createServer((request, response) => {
      request.resume().once("close", () => void middleware(request, response));
    }),
  );
  await fetch(url, { method: "POST" });
  expect(seen).toMatchObject([{ body: "" }]);
});
