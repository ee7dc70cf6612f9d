import express from "express";
import { createServer, request as ask, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createMiddleware, pathOf } from "../../../receiver/intake/adapters.ts";
import { createBodyReader } from "../../../receiver/intake/body.ts";
import { listen } from "../../helpers/listen.ts";
import { FULL, NOTHING, READ, recording } from "../helpers/recording.ts";

/** What is read of a request is the same, however it comes. */

const body = createBodyReader({ maxBodyBytes: 100 });

async function throughNode(
  headers: Record<string, string | string[]>,
  options: { id?: unknown; draining?: boolean; method?: string; path?: string; parsed?: object } = {},
) {
  const { seen, webhook } = recording();
  const middleware = createMiddleware(webhook, body, () => options.draining ?? false);
  const { port } = await listen(
    createServer((request, response) => {
      for (const [name, value] of Object.entries({ id: options.id, ...options.parsed }))
        Object.defineProperty(request, name, { value });
      void middleware(request, response);
    }),
  );
  const { method = "POST", path = "/hooks?key=1" } = options;
  const answer = await new Promise<Record<string, unknown>>((resolve, reject) => {
    ask({ port, host: "127.0.0.1", method, path, headers }, (response) => {
      response.resume().once("end", () => resolve({ status: response.statusCode, ...response.headers }));
    })
      .once("error", reject)
      .end("{}");
  });
  return { seen: seen[0], answer };
}

test("of node:http's requests is read what every webhook has", async () => {
  expect((await throughNode(FULL)).seen).toEqual(READ);
});

test("what a request lacks is told as lacking", async () => {
  const node = await throughNode({ "transfer-encoding": "chunked" });
  expect(node.seen).toMatchObject({ ...NOTHING, traceparent: undefined, encoding: undefined });
});

test("each signature header stands by itself", async () => {
  const { seen } = await throughNode({ "x-service-signature": ["t=1", "t=2"], "content-length": "2" });
  expect(seen?.signatures).toEqual(["t=1", "t=2"]);
});

test.each([
  ["a text", "a text"],
  [7, "7"],
  [0, "0"],
  [undefined, undefined],
  [null, undefined],
  [{ id: 7 }, undefined],
  [() => "7", undefined],
])("the app's id %o of a request is taken for %o", async (id, expected) => {
  expect((await throughNode(FULL, { id })).seen?.id).toBe(expected);
});

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** What body parsers leave beside the request: the bytes that were signed, or a text or an object that they made of them. */
test.each<[object, string]>([
  [{ rawBody: bytes("raw"), body: bytes("inflated") }, "raw"],
  [{ rawBody: bytes("raw"), body: { made: "of it" } }, "raw"],
  [{ rawBody: "a text", body: bytes("bytes") }, "bytes"],
  [{ body: bytes("bytes") }, "bytes"],
  [{ body: new Uint8Array() }, ""],
  [{ body: {} }, "{}"],
  [{ body: "a text" }, "{}"],
  [{ body: bytes("x".repeat(100)) }, "x".repeat(100)],
  [{ body: bytes("x".repeat(101)) }, "too_large"],
  [{ rawBody: bytes("x".repeat(101)), body: bytes("x") }, "too_large"],
  [{ readableDidRead: true }, "already_read"],
  [{ readableDidRead: true, body: { made: "of it" } }, "already_read"],
  [{ readableDidRead: true, rawBody: bytes("raw") }, "raw"],
])("of a request with %o the body is taken for %o", async (parsed, expected) => {
  expect((await throughNode(FULL, { parsed })).seen?.body).toBe(expected);
});

/** How apps mount it, and which requests are then its own; the others go on to what comes behind it. */
test.each<
  [string, (app: express.Express, middleware: ReturnType<typeof createMiddleware>) => unknown, object]
>([
  [
    "app.use(path)",
    (app, middleware) => app.use("/hooks", middleware),
    { "/hooks": "/hooks", "/hooks?a=1": "/hooks", "/hooks/": "/hooks/", "/hooks/more": 404, "/else": 404 },
  ],
  [
    "app.use()",
    (app, middleware) => app.use(middleware),
    { "/": "/", "/hooks": "/hooks", "/hooks/more?a=1": "/hooks/more" },
  ],
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
])("mounted by %s it takes its own requests, and tells their whole path", async (_how, mount, expected) => {
  const { seen, webhook } = recording();
  const app = express();
  mount(
    app,
    createMiddleware(webhook, body, () => false),
  );
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
  ["/hooks", "/hooks"],
  ["/hooks?a=/b?c", "/hooks"],
  ["?a", ""],
  ["http://kit.test/hooks?a=b", "/hooks"],
  ["HTTPS://kit.test", ""],
  ["ftp://kit.test/hooks", "ftp://kit.test/hooks"],
  ["*", "*"],
])("the path of %o is %o", (url, path) => {
  expect(pathOf(url === undefined ? {} : { url })).toBe(path);
});

test("an app that has answered by itself keeps its answer, and what breaks then is no error of ours", async () => {
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

/** Sends the beginning of a body of two bytes to an app that waits for `until` before it hands the request on. */
async function behindSlowMiddleware(sent: string, until: (request: IncomingMessage) => Promise<unknown>) {
  const { seen, webhook } = recording();
  const middleware = createMiddleware(webhook, body, () => false);
  const arrived = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const { port } = await listen(
    createServer((request, response) => {
      arrived.resolve();
      until(request)
        .then(async () => middleware(request, response))
        .then(taken.resolve, taken.reject);
    }),
  );
  const client = ask({ port, host: "127.0.0.1", method: "POST", headers: { "content-length": "2" } });
  client.on("error", () => undefined).write(sent);
  await arrived.promise;
  client.destroy();
  await taken.promise;
  return seen;
}

test.each(["{", "{}"])(
  "a client that goes away before its request comes here, after %o, holds nothing",
  async (sent) => {
    const gone = (request: IncomingMessage) => new Promise((resolve) => request.once("close", resolve));
    expect(await behindSlowMiddleware(sent, gone)).toMatchObject([{ body: "incomplete" }]);
  },
);

test("an empty body that was read before it came here is empty still", async () => {
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
