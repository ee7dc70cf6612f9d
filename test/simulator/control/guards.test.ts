import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { firstId, startService } from "../../helpers/service.ts";
import { run } from "../commands/in-process.ts";

/** Routes of every kind: a guard must cover all of them. */
const READS = ["/control/endpoints", "/control/clock", "/control/stream", "/control/nothing", "/dashboard"];
const CHANGES = [
  ["POST", "/control/endpoints"],
  ["PATCH", "/control/endpoints/ep_0"],
  ["POST", "/control/events"],
  ["POST", "/control/deliveries/resend"],
  ["POST", "/control/jobs/job_1/cancel"],
  ["POST", "/control/clock/advance"],
  ["POST", "/control/verification/cancel"],
  ["POST", "/control/reset"],
] as const;

/** A request with exactly these headers, which fetch does not allow. */
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
      // A stream never ends: its headers suffice.
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

test("every route checks the Host without regard to case; paths are case-sensitive", async () => {
  const { port } = await startService();
  for (const path of [...READS, "/api/v1/me", "/recordings/call_0.mp3", "/"]) {
    for (const host of ["evil.example", `evil.example:${port}`, "localhost", "127.0.0.1.evil.example"]) {
      const { status } = await raw(port, "GET", path, { host });
      expect({ path, host, status }).toEqual({ path, host, status: 421 });
    }
  }
  for (const [method, path] of CHANGES)
    expect((await raw(port, method, path, { ...json, host: "evil.example" }, "{}")).status).toBe(421);
  for (const name of ["localhost", "LocalHost", "127.0.0.1", "[::1]"])
    expect((await raw(port, "GET", "/control/clock", { host: `${name}:${port}` })).status, name).toBe(200);
  const key = { authorization: "Bearer va_test_restaurant" };
  const statuses = ["/api/v1/me", "/API/v1/me", "/api/v1/Me", "/Control/clock", "/control/Clock"].map(
    async (path) => (await raw(port, "GET", path, key)).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, 404, 404, 404, 404]);
});

describe("a change", () => {
  test("comes from our own pages or from outside a browser, as JSON, on every route", async () => {
    const { port } = await startService();
    const refusals: [headers: Record<string, string>, status: number][] = [
      [{ ...json, origin: "http://evil.example" }, 403],
      [{ ...json, origin: "null" }, 403],
      [{ ...json, origin: `http://localhost:${port + 1}` }, 403],
      [{ "content-type": "text/plain" }, 415],
      [{ "content-type": "application/x-www-form-urlencoded" }, 415],
      [{}, 415],
    ];
    for (const [method, path] of CHANGES)
      for (const [headers, status] of refusals)
        expect((await raw(port, method, path, headers, "{}")).status, `${path} ${status}`).toBe(status);
    const remove = (headers: Record<string, string>, body?: string) =>
      raw(port, "DELETE", "/control/endpoints/ep_0", headers, body);
    expect((await remove({ origin: "http://evil.example" })).status).toBe(403);
    expect((await remove({ "transfer-encoding": "chunked" }, "{}")).status).toBe(415);
    expect((await remove({ "content-length": "0" })).status).toBe(404);
    for (const name of ["localhost", "127.0.0.1"]) {
      const own = { ...json, host: `LOCALHOST:${port}`, origin: `http://${name}:${port}` };
      expect((await raw(port, "POST", "/control/reset", own, "{}")).status).toBe(200);
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

  test("requires its token on every route of the control API and the dashboard", async () => {
    const { port } = await wide();
    for (const path of READS) {
      for (const headers of [
        { accept: "*/*" },
        { authorization: "Bearer wrong" },
        { cookie: "simulator_token=wrong" },
        { cookie: "simulator_token=%" },
      ]) {
        const { status } = await raw(port, "GET", path, headers);
        expect({ path, headers, status }).toEqual({ path, headers, status: 401 });
      }
      expect((await raw(port, "GET", path, { authorization: `Bearer ${token}` })).status).not.toBe(401);
    }
    for (const [method, path] of CHANGES)
      expect((await raw(port, method, path, json, "{}")).status).toBe(401);
    // The REST API has its own keys.
    const key = { authorization: "Bearer va_test_restaurant" };
    expect((await raw(port, "GET", "/api/v1/me", key)).status).toBe(200);
    expect((await raw(port, "GET", "/api/v1/me", { authorization: `Bearer ${token}` })).status).toBe(401);
  });

  test("takes it from the link, and from the cookie that the link sets", async () => {
    const { port } = await wide();
    const query = `token=${encodeURIComponent(token)}`;
    const opened = await raw(port, "GET", `/control/clock?${query}`, {});
    expect(opened.status).toBe(200);
    const [cookie = ""] = [opened.headers["set-cookie"] ?? []].flat();
    expect(cookie).toMatch(/(?=.*; HttpOnly)(?=.*; SameSite=Strict)(?=.*; Path=\/(?:;|$))/);
    const kept = { cookie: `other=1; ${cookie.split(";")[0] ?? ""}` };
    expect((await raw(port, "GET", "/control/stream", kept)).status).toBe(200);
    expect((await raw(port, "POST", `/control/reset?${query}`, json, "{}")).status).toBe(401);
  });

  test("answers under any host name, and accepts changes only from pages of the same host", async () => {
    const { port } = await wide();
    const host = `build-machine.lan:${port}`;
    const own = { ...json, host, authorization: `Bearer ${token}` };
    const reset = async (origin: string) =>
      (await raw(port, "POST", "/control/reset", { ...own, origin }, "{}")).status;
    expect([await reset(`http://${host}`), await reset("http://evil.example")]).toEqual([200, 403]);
  });
});

describe("a body", () => {
  test("that cannot be read is refused with a message, and breaks nothing", async () => {
    const { port } = await startService();
    for (const [text, status] of [
      ["{", 400],
      ['"text"', 400],
      ["null", 400],
      ["\uFEFF{", 400],
      ["[".repeat(100_000), 400],
      [`{"url":"${"x".repeat(11 * 1024 * 1024)}"}`, 413],
    ] as const) {
      const answer = await raw(port, "POST", "/control/endpoints", json, text);
      expect(answer.status).toBe(status);
      expect(Object.keys(JSON.parse(answer.body) as object)).toEqual(["error", "message"]);
      expect(answer.body).not.toMatch(/node_modules|at \w+ \(/);
    }
    const undecodable = await raw(port, "GET", "/control/endpoints/%E0%A4%A", {});
    expect(undecodable).toMatchObject({ status: 400, body: expect.stringContaining("invalid_request") });
  });

  test.each(["__proto__", "constructor"])("with the key %s changes no prototype", async (key) => {
    const { port, simulator } = await startService();
    const text = `{"type":"call.completed","object":{"${key}":{"polluted":"yes"},"outcome":"completed"}}`;
    const answer = await raw(port, "POST", "/control/events", json, text);
    expect([202, 400]).toContain(answer.status);
    await raw(
      port,
      "POST",
      "/control/endpoints",
      json,
      `{"url":"http://localhost:1","${key}":{"polluted":1}}`,
    );
    await raw(port, "PATCH", "/control/readings", json, `{"${key}":"x"}`);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(simulator.readings()).not.toHaveProperty("polluted");
  });
});

describe("a signing secret", () => {
  test("is returned only at registration", async () => {
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
    const paths = ["/endpoints", `/endpoints/${id}`, `/endpoints/${id}/answers`, "/deliveries", "/clock"];
    paths.push(`/events/${firstId(body["events"])}`, `/deliveries/${firstId(body["deliveries"])}`);
    for (const path of paths) answers.push(JSON.stringify((await ask("GET", path)).body));
    for (const answer of answers) {
      expect(answer).not.toContain(secret);
      expect(answer).not.toContain('"secret"');
    }
    expect(stream).toContain('"secret_last4":"6789"');
  });

  test("of a few characters is not shown in part either", async () => {
    const { ask } = await startService();
    for (const [secret, secret_last4] of Object.entries({ elevenchars: "", twelve_chars: "hars" })) {
      const { body } = await ask("POST", "/endpoints", { url: "http://localhost:1", secret });
      expect(body).toMatchObject({ secret, secret_last4 });
    }
  });
});

test("if a simulator requires its token, the commands send the one that they are given", async () => {
  const token = "0123456789abcdef";
  const { port } = await startService({ clock: "manual" }, { host: "0.0.0.0", token });
  for (const command of ["deliveries", "trigger call.completed"]) {
    const words = [...command.split(" "), "--simulator", `http://localhost:${port}`];
    expect((await run(...words, "--token", token)).code).toBe(0);
    const { code, out, err } = await run(...words, "--token", "0123456789abcdeX");
    expect(code).toBe(2);
    expect(`${out}${err}`).toContain("needs its token: send Authorization");
  }
});
