import { createServer, request as ask } from "node:http";
import { expect, test } from "vitest";
import { createFetch, createMiddleware, pathOf } from "../../receiver/intake/adapters.ts";
import { ANSWERS } from "../../receiver/intake/answers.ts";
import { createBodyReader } from "../../receiver/intake/body.ts";
import type { Webhook, WebhookRequest } from "../../receiver/intake/webhook.ts";
import { listen } from "../helpers/listen.ts";

/** What is read of a request is the same, however it comes. */

function recording() {
  const seen: (Omit<WebhookRequest, "readBody"> & { body: string })[] = [];
  const webhook: Webhook = async ({ readBody, ...request }, send) => {
    const body = await readBody();
    seen.push({ ...request, body: body.ok ? Buffer.from(body.bytes).toString() : body.problem });
    send(ANSWERS.stored);
  };
  return { seen, webhook };
}

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

const FULL = {
  "X-Service-Signature": "t=1,v1=a",
  traceparent: "00-1",
  "content-encoding": "gzip",
  "content-length": "2",
};
const READ = {
  method: "POST",
  path: "/hooks",
  id: undefined,
  signatures: ["t=1,v1=a"],
  traceparent: "00-1",
  encoding: "gzip",
  announcedBytes: 2,
  body: "{}",
};

test("of node:http's requests and of the Fetch API's the same is read", async () => {
  expect((await throughNode(FULL)).seen).toEqual(READ);
  const { seen, webhook } = recording();
  const answer = await createFetch(
    webhook,
    body,
  )(new Request("http://kit.test/hooks?key=1", { method: "POST", headers: FULL, body: "{}" }));
  expect(seen).toEqual([READ]);
  expect([answer.status, answer.headers.get("content-type"), await answer.json()]).toEqual([
    200,
    "application/json; charset=utf-8",
    { received: true, duplicate: false },
  ]);
});

test("what a request lacks is told as lacking", async () => {
  const none = { signatures: [], announcedBytes: undefined, body: "{}" };
  const node = await throughNode({ "transfer-encoding": "chunked" });
  expect(node.seen).toMatchObject({ ...none, traceparent: undefined, encoding: undefined });
  const { seen, webhook } = recording();
  await createFetch(webhook, body)(new Request("http://kit.test/", { method: "POST", body: "{}" }));
  expect(seen).toMatchObject([{ ...none, path: "/", traceparent: null, encoding: null }]);
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
