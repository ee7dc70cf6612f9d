import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
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

test("it reads each path of the API, whichever form of its base URL was configured", async () => {
  const { state, baseUrl } = await startRestService();
  state.voicemails = makeVoicemails(3, 1_700_000_000_000);
  for (const address of [baseUrl, `${baseUrl}/`, `${baseUrl}/api/v1`, `${baseUrl}/api/v1/`]) {
    const api = client(address);
    expect((await api.me()).object).toBe("organization");
    expect(await api.agents()).toHaveLength(1);
    expect(await all(api.voicemails())).toHaveLength(3);
    expect(Math.abs(api.serviceTimeMs()! - Date.now())).toBeLessThan(60_000);
  }
});

test("a list is read to its end by cursor, also while items are added, and from a given place", async () => {
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
  const rest = await all(api.calls(calls[117]!.id));
  expect(rest).toEqual(calls.slice(118));
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
  const message: unknown = expect.stringMatching(/401 unauthorized: .* Check API_KEY\.$/);
  await expect(client(baseUrl, "key_wrong").me()).rejects.toMatchObject({ code: "unauthorized", message });
  expect(state.requests).toHaveLength(9);
});

test("a missing answer is an error with the URL, and no error contains the key", async () => {
  const { state, baseUrl } = await startRestService();
  const { url, close } = await listen(createServer());
  await close();
  const message: unknown = expect.stringContaining("ECONNREFUSED");
  await expect(client(url).me()).rejects.toMatchObject({ code: "network", message });
  const key = "key_0123456789";
  const refusal = JSON.stringify({ error: "bad", message: `unknown key ${key} of +12125550123.` });
  state.interludes = [(_request, response) => void response.writeHead(400).end(refusal)];
  await expect(client(baseUrl, key).me()).rejects.toThrow(
    /bad: unknown key \[redacted\] of \[redacted\]\. Check/,
  );
});

const page = JSON.stringify({ object: "list", data: makeCalls(2, 1_700_000_000_000), has_more: true });

test.each([
  ["no JSON", "nonsense", "malformed"],
  ["another object", '{"object":"list"}', "malformed"],
  ["more than eight megabytes", `{"object":"list","data":["${"x".repeat(9_000_000)}"]}`, "network"],
  ["a list that runs in a circle", page, "malformed"],
])("an answer of %s is refused", async (_what, body, code) => {
  const { state, baseUrl } = await startRestService();
  const answer = (_request: IncomingMessage, response: ServerResponse) => void response.end(body);
  state.interludes = Array.from({ length: 4 }, () => answer);
  const message: unknown = expect.stringMatching(/^.{1,300}$/s);
  await expect(all(client(baseUrl).calls())).rejects.toMatchObject({ code, message });
});

test("it uses the proxy of the environment, except for the hosts that need none", async () => {
  const { baseUrl } = await startRestService();
  let asked = 0;
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }, socket) => {
    asked += 1;
    const onward = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
  });
  proxy.on("request", ({ url = "", headers }, response) => {
    asked += 1;
    const { authorization = "" } = headers;
    void fetch(url, { headers: { authorization } })
      .then(async (answer) => answer.text())
      .then((text) => response.end(text));
  });
  const { url } = await listen(proxy);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("HTTP_PROXY", url);
  for (const [NO_PROXY, expected] of [
    ["", 1],
    ["127.0.0.1", 1],
  ] as const) {
    vi.stubEnv("NO_PROXY", NO_PROXY);
    expect((await client(baseUrl).me()).object).toBe("organization");
    expect(asked).toBe(expected);
  }
  for (const wrong of ["proxy:8080", " ", "http://user:p%zz@proxy:8080"]) {
    vi.stubEnv("HTTP_PROXY", wrong);
    const misled = client(baseUrl);
    await expect(misled.me()).rejects.toThrow(/HTTP_PROXY or HTTPS_PROXY, if set, is an address such as/);
    await misled.close();
  }
});
