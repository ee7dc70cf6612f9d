import { createServer, request as ask } from "node:http";
import { expect, test } from "vitest";
import { createMiddleware, pathOf } from "../../receiver/intake/adapters.ts";
import { createBodyReader } from "../../receiver/intake/body.ts";
import { listen } from "../helpers/listen.ts";
import { FULL, NOTHING, READ, recording } from "./helpers/recording.ts";

/** What is read of a request is the same, however it comes. */

const body = createBodyReader({ maxBodyBytes: 100 });

async function throughNode(
  headers: Record<string, string | string[]>,
  options: { id?: unknown; draining?: boolean; method?: string; path?: string } = {},
) {
  const { seen, webhook } = recording();
  const middleware = createMiddleware(webhook, body, () => options.draining ?? false);
  const { port } = await listen(
    createServer(
      (request, response) => void middleware(Object.assign(request, { id: options.id }), response),
    ),
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
