import { createServer, request as proxyRequest } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createRestClient, type RestClient } from "../../../receiver/operations/rest-client.ts";
import { listen } from "../../helpers/listen.ts";
import { API_KEY, makeCalls, makeVoicemails, startRestService } from "../helpers/rest-service.ts";

function client(baseUrl: string, key = API_KEY): RestClient {
  const api = createRestClient({ baseUrl, key, pauseMs: 1 });
  onTestFinished(async () => api.close());
  return api;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("it reads each path of the API, whichever of its addresses was copied", async () => {
  const { state, baseUrl } = await startRestService();
  state.voicemails = makeVoicemails(3, 1_700_000_000_000);
  for (const address of [baseUrl, `${baseUrl}/`, `${baseUrl}/api/v1`, `${baseUrl}/api/v1/`]) {
    const api = client(address);
    expect((await api.me()).object).toBe("organization");
    expect(await api.agents()).toHaveLength(1);
    expect(await all(api.voicemails({ reviewed: false }))).toHaveLength(3);
    expect(Math.abs((await api.serviceTimeMs())! - Date.now())).toBeLessThan(60_000);
  }
});

test("a list is walked to its end by a cursor, also while items are added, and from where one says", async () => {
  const { state, baseUrl } = await startRestService();
  const calls = makeCalls(120, 1_700_000_000_000);
  state.calls = calls;
  const api = client(baseUrl);
  const walked: string[] = [];
  for await (const { id } of api.calls()) {
    walked.push(id);
    if (walked.length === 10) state.calls = [...makeCalls(5, 1_700_001_000_000, "new"), ...calls];
  }
  expect(walked).toEqual(calls.map(({ id }) => id));
  expect(state.requests).toHaveLength(3);
  expect(await all(api.calls({ startingAfter: calls[117]!.id }))).toEqual(calls.slice(118));
});

test("5xx, 429 and cut connections are tried again, four times in all; 4xx are not", async () => {
  const { state, baseUrl } = await startRestService();
  const api = client(baseUrl);
  state.interludes = [
    (_request, response) => void response.writeHead(500).end(),
    (_request, response) => void response.writeHead(429, { "retry-after": "0" }).end(),
    (request) => void request.socket.destroy(),
  ];
  expect((await api.me()).object).toBe("organization");
  expect(state.requests).toHaveLength(4);

  state.isDown = () => true;
  await expect(api.me()).rejects.toMatchObject({
    name: "RestError",
    message: expect.stringContaining("500"),
  });
  expect(state.requests).toHaveLength(8);

  state.isDown = () => false;
  await expect(client(baseUrl, "key_wrong").me()).rejects.toMatchObject({
    code: "unauthorized",
    message: expect.stringMatching(/401 unauthorized: .* Check API_KEY\.$/),
  });
  expect(state.requests).toHaveLength(9);
});

test("no answer is a RestError that says where, and never holds the key", async () => {
  const { state, baseUrl } = await startRestService();
  const closed = createServer();
  const { port, close } = await listen(closed);
  await close();
  await expect(client(`http://127.0.0.1:${String(port)}`).me()).rejects.toMatchObject({
    code: "network",
    message: expect.stringContaining("ECONNREFUSED"),
  });
  const key = "key_0123456789";
  state.interludes = [
    (_request, response) =>
      void response
        .writeHead(400)
        .end(JSON.stringify({ error: "bad", message: `unknown key ${key} of +12125550123` })),
  ];
  await expect(client(baseUrl, key).me()).rejects.toThrow(/bad: unknown key \[redacted\] of \[redacted\]\./);
});

test.each([
  ["no JSON", "nonsense"],
  ["another object", '{"object":"list"}'],
  ["items without end", `{"object":"list","data":[${"1,".repeat(2_000_000)}1]}`],
  ["more than eight megabytes", `{"object":"list","data":["${"x".repeat(9_000_000)}"]}`],
])("an answer of %s is refused", async (_what, body) => {
  const { state, baseUrl } = await startRestService();
  state.interludes = Array.from({ length: 4 }, () => (_request, response) => void response.end(body));
  await expect(all(client(baseUrl).calls())).rejects.toMatchObject({
    name: "RestError",
    message: expect.stringMatching(/^.{1,300}$/s),
  });
});

test("of an answer of 31 megabytes no more than eight are read", async () => {
  const { state, baseUrl } = await startRestService();
  let sent = 0;
  state.interludes = Array.from({ length: 4 }, () => (_request, response) => {
    const more = (): void => {
      while (sent < 31_000_000 && !response.destroyed) {
        sent += 65_536;
        if (!response.write("x".repeat(65_536))) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  });
  await expect(client(baseUrl).me()).rejects.toThrow("no answer");
  expect(sent).toBeLessThan(31_000_000);
});

test("a list that runs in a circle ends", async () => {
  const { state, baseUrl } = await startRestService();
  const page = JSON.stringify({ object: "list", data: makeCalls(2, 1_700_000_000_000), has_more: true });
  state.interludes = Array.from({ length: 10 }, () => (_request, response) => void response.end(page));
  await expect(all(client(baseUrl).calls())).rejects.toMatchObject({ code: "malformed" });
  expect(state.requests).toHaveLength(2);
});

test("it goes through the proxy that the environment names, but for the hosts that need none", async () => {
  const { baseUrl } = await startRestService();
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(request.url ?? "");
    request.pipe(
      proxyRequest(request.url ?? "", { method: request.method, headers: request.headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  proxy.on("connect", ({ url = "" }, socket) => {
    asked.push(url);
    const [host, port] = url.split(":");
    const onward = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
  });
  const { url } = await listen(proxy);
  const before = { HTTP_PROXY: process.env["HTTP_PROXY"], NO_PROXY: process.env["NO_PROXY"] };
  onTestFinished(() => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
  });
  process.env["HTTP_PROXY"] = url;
  process.env["NO_PROXY"] = "";
  expect((await client(baseUrl).me()).object).toBe("organization");
  expect(asked).toHaveLength(1);
  process.env["NO_PROXY"] = "127.0.0.1";
  expect((await client(baseUrl).me()).object).toBe("organization");
  expect(asked).toHaveLength(1);
});
