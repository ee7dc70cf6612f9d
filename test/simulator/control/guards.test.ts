import { request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "../../../simulator/server.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { firstId, startService } from "../../helpers/service.ts";
import { openSimulator } from "../../helpers/simulator.ts";

/** Every route, since a guard that stands before most of them guards nothing. */
const READS = [
  "/control/endpoints",
  "/control/events",
  "/control/deliveries",
  "/control/clock",
  "/control/organizations",
  "/control/readings",
  "/control/faults",
  "/control/stream",
  "/control/nothing",
  "/dashboard",
];
const CHANGES = [
  ["POST", "/control/endpoints"],
  ["PATCH", "/control/endpoints/ep_0"],
  ["POST", "/control/endpoints/ep_0/test"],
  ["POST", "/control/events"],
  ["POST", "/control/replay"],
  ["POST", "/control/deliveries/dlv_0/resend"],
  ["POST", "/control/deliveries/dlv_0/attempt"],
  ["PATCH", "/control/clock"],
  ["POST", "/control/clock/advance"],
  ["PATCH", "/control/readings"],
  ["POST", "/control/reset"],
] as const;

/** A request with the headers exactly as they are given, which fetch does not allow. */
function raw(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string | undefined>,
  body = "",
): Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    const setHost = headers["host"] === undefined;
    const sent = request({ port, host: "127.0.0.1", method, path, headers, setHost }, (response) => {
      const done = (text: string) =>
        resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers });
      // A stream never ends: its head is answer enough.
      if (response.headers["content-type"]?.startsWith("text/event-stream")) {
        response.destroy();
        return done("");
      }
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => done(text));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const json = { "content-type": "application/json" };

describe("the Host header", () => {
  test("is one of ours on every route, the stream included", async () => {
    const { port } = await startService();
    const paths = [...READS, "/api/v1/me", "/recordings/call_0.mp3", "/"];
    for (const path of paths) {
      for (const host of [
        "evil.example",
        `evil.example:${port}`,
        "localhost",
        "localhost:1",
        "127.0.0.1.evil.example",
      ]) {
        const answer = await raw(port, "GET", path, { host });
        expect({ path, host, status: answer.status }).toEqual({ path, host, status: 421 });
      }
    }
    for (const [method, path] of CHANGES) {
      expect((await raw(port, method, path, { ...json, host: "evil.example" }, "{}")).status).toBe(421);
    }
  });

  test.each(["localhost", "127.0.0.1", "[::1]"])("may say %s", async (name) => {
    const { port } = await startService();
    expect((await raw(port, "GET", "/control/clock", { host: `${name}:${port}` })).status).toBe(200);
  });
});

test("at port 80 the Host may come without it, as browsers send it", async (context) => {
  const simulator = openSimulator();
  const bugs: unknown[] = [];
  const listening = await listen(simulator, {
    port: 80,
    host: "127.0.0.1",
    onError: (bug) => bugs.push(bug),
  });
  // Not everybody may listen there, and somebody else may do so already.
  context.skip(!listening.ok, "port 80 is not to be had");
  if (!listening.ok) return;
  const { server } = listening;
  onTestFinished(() => server.close());
  const statuses = await Promise.all(
    ["localhost", "127.0.0.1:80", "127.0.0.1", "evil.test", "evil.test:80"].map(
      async (host) => (await raw(80, "GET", "/control/clock", { host })).status,
    ),
  );
  expect({ url: server.url, statuses, bugs }).toEqual({
    url: "http://127.0.0.1:80",
    statuses: [200, 200, 200, 421, 421],
    bugs: [],
  });
});

describe("a change", () => {
  test("from another site is refused on every route", async () => {
    const { port } = await startService();
    for (const [method, path] of CHANGES) {
      for (const origin of ["http://evil.example", "null", `http://localhost:${port + 1}`, "file://"]) {
        const answer = await raw(port, method, path, { ...json, origin }, "{}");
        expect({ path, origin, status: answer.status }).toEqual({ path, origin, status: 403 });
      }
    }
    expect(
      (await raw(port, "DELETE", "/control/endpoints/ep_0", { origin: "http://evil.example" })).status,
    ).toBe(403);
  });

  test("in anything but JSON is refused on every route", async () => {
    const { port } = await startService();
    for (const [method, path] of CHANGES) {
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
      ]) {
        const headers = type === "" ? {} : { "content-type": type };
        const answer = await raw(port, method, path, headers, "{}");
        expect({ path, type, status: answer.status }).toEqual({ path, type, status: 415 });
      }
    }
    const chunked = { "transfer-encoding": "chunked" };
    expect((await raw(port, "DELETE", "/control/endpoints/ep_0", chunked, "{}")).status).toBe(415);
    expect((await raw(port, "DELETE", "/control/endpoints/ep_0", {})).status).toBe(404);
  });

  test("without a body needs JSON too, unless it deletes; one that deletes with a body in chunks does", async () => {
    const { port } = await startService();
    const none = { "content-length": "0" };
    expect((await raw(port, "POST", "/control/reset", none)).status).toBe(415);
    expect((await raw(port, "DELETE", "/control/endpoints/ep_0", none)).status).toBe(404);
    const chunked = { "transfer-encoding": "chunked" };
    expect((await raw(port, "DELETE", "/control/endpoints/ep_0", chunked, "{}")).status).toBe(415);
  });

  test("from our own page is accepted", async () => {
    const { port } = await startService();
    for (const name of ["localhost", "127.0.0.1"]) {
      const origin = `http://${name}:${port}`;
      expect((await raw(port, "POST", "/control/reset", { ...json, origin }, "{}")).status).toBe(200);
    }
  });

  test("is never allowed to other sites by a header of ours", async () => {
    const { port } = await startService();
    for (const method of ["GET", "OPTIONS"]) {
      const answer = await raw(port, method, "/control/endpoints", { origin: "http://evil.example" });
      const allowing = Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"));
      expect(allowing).toEqual([]);
    }
  });
});

describe("a simulator that is bound wider than loopback", () => {
  const token = "s3cret=token/with+signs";
  const wide = () => startService({}, { host: "0.0.0.0", token });

  test("wants its token on every route of the control API and the dashboard", async () => {
    const { port } = await wide();
    for (const path of READS) {
      for (const headers of [
        { accept: "*/*" },
        { authorization: "Bearer wrong" },
        { authorization: `Basic ${token}` },
        { cookie: "simulator_token=wrong" },
        { cookie: "simulator_token=%" },
      ]) {
        const answer = await raw(port, "GET", path, headers);
        expect({ path, headers, status: answer.status }).toEqual({ path, headers, status: 401 });
      }
      expect((await raw(port, "GET", path, { authorization: `Bearer ${token}` })).status).not.toBe(401);
    }
    for (const [method, path] of CHANGES) {
      expect((await raw(port, method, path, json, "{}")).status).toBe(401);
    }
  });

  test("takes it from the link, and from the cookie that the link sets", async () => {
    const { port } = await wide();
    const opened = await raw(port, "GET", `/control/clock?token=${encodeURIComponent(token)}`, {});
    expect(opened.status).toBe(200);
    const [cookie = ""] = [opened.headers["set-cookie"] ?? []].flat();
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Strict/);
    expect(cookie).toMatch(/; Path=\/(?:;|$)/);
    const kept = { cookie: `other=1; ${cookie.split(";")[0] ?? ""}` };
    expect((await raw(port, "GET", "/control/stream", kept)).status).toBe(200);
    expect(
      (await raw(port, "POST", `/control/reset?token=${encodeURIComponent(token)}`, json, "{}")).status,
    ).toBe(401);
  });

  test("answers by whatever name the network has for it, and takes changes from pages of that name only", async () => {
    const { port } = await wide();
    const host = `build-machine.lan:${port}`;
    const own = { ...json, host, authorization: `Bearer ${token}` };
    expect(
      (await raw(port, "POST", "/control/reset", { ...own, origin: `http://${host}` }, "{}")).status,
    ).toBe(200);
    expect(
      (await raw(port, "POST", "/control/reset", { ...own, origin: "http://evil.example" }, "{}")).status,
    ).toBe(403);
  });

  test("leaves the REST API to its API keys", async () => {
    const { port } = await wide();
    const key = { authorization: "Bearer va_test_restaurant" };
    expect((await raw(port, "GET", "/api/v1/me", key)).status).toBe(200);
    expect((await raw(port, "GET", "/api/v1/me", { authorization: `Bearer ${token}` })).status).toBe(401);
  });
});

describe("a body", () => {
  test.each<[string, string, number]>([
    ["that is no JSON", "{", 400],
    ["that is a word", '"text"', 400],
    ["of nothing but null", "null", 400],
    ["with a byte order mark", "\uFEFF{", 400],
    ["nested without end", "[".repeat(100_000), 400],
    ["of 11 MB", `{"url":"${"x".repeat(11 * 1024 * 1024)}"}`, 413],
  ])("%s is refused in words, and breaks nothing", async (_name, text, status) => {
    const { port } = await startService();
    const answer = await raw(port, "POST", "/control/endpoints", json, text);
    expect(answer.status).toBe(status);
    const told = JSON.parse(answer.body) as Record<string, string>;
    expect(Object.keys(told)).toEqual(["error", "message"]);
    expect(answer.body).not.toMatch(/node_modules|at \w+ \(/);
    expect((await raw(port, "GET", "/control/clock", {})).status).toBe(200);
  });

  test.each(["__proto__", "constructor", "prototype"])(
    "with the key %s changes no prototype",
    async (key) => {
      const { port, simulator } = await startService();
      const text = `{"type":"call.completed","object":{"${key}":{"polluted":"yes"},"outcome":"completed"}}`;
      const answer = await raw(port, "POST", "/control/events", json, text);
      expect([202, 400]).toContain(answer.status);
      const top = `{"url":"http://localhost:1","${key}":{"polluted":"yes"}}`;
      await raw(port, "POST", "/control/endpoints", json, top);
      await raw(port, "PATCH", "/control/readings", json, `{"${key}":"x"}`);
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
      expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
      expect(simulator.readings()).not.toHaveProperty("polluted");
    },
  );

  test("in a path that cannot be decoded is refused in words", async () => {
    const { port } = await startService();
    const answer = await raw(port, "GET", "/control/endpoints/%E0%A4%A", {});
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({ error: "invalid_request" });
  });
});

describe("a signing secret", () => {
  test("is told once, at registration, and appears nowhere else again", async () => {
    const endpoint = await startEndpoint((response) => response.writeHead(500).end("no"));
    const { port, ask, simulator } = await startService({ clock: "skip" });
    const secret = "a-secret-of-its-own-0123456789";
    const created = await ask("POST", "/endpoints", { url: endpoint.url, secret });
    expect(created.body["secret"]).toBe(secret);
    const id = String(created.body["id"]);

    const streamed = await fetch(`http://127.0.0.1:${port}/control/stream`, {
      headers: { "last-event-id": String(simulator.journal.lastId() - 1) },
    });
    const reader = streamed.body?.getReader();
    const { body } = await ask("POST", "/events", { type: "call.completed" });
    await simulator.settled();
    await ask("PATCH", `/endpoints/${id}`, { event_types: ["call.completed"] });
    let stream = "";
    while (!stream.includes('"event_types":["call.completed"]')) {
      const chunk = await reader?.read();
      stream += new TextDecoder().decode(chunk?.value);
    }
    await reader?.cancel();

    const answers = [stream];
    const delivery = firstId(body["deliveries"]);
    const event = firstId(body["events"]);
    for (const path of [
      "/endpoints",
      `/endpoints/${id}`,
      `/endpoints/${id}/answers`,
      "/events",
      `/events/${event}`,
      "/deliveries",
      `/deliveries/${delivery}`,
      "/organizations",
      "/clock",
    ]) {
      answers.push(JSON.stringify((await ask("GET", path)).body));
    }
    for (const answer of answers) {
      expect(answer).not.toContain(secret);
      expect(answer).not.toContain('"secret"');
    }
    expect(answers[0]).toContain('"secret_last4":"6789"');
  });

  test("of a few characters is not told in part either", async () => {
    const { ask } = await startService();
    for (const secret of ["x", "abcd", "elevenchars"]) {
      const { body } = await ask("POST", "/endpoints", { url: "http://localhost:1", secret });
      expect(body).toMatchObject({ secret, secret_last4: "" });
    }
  });
});
