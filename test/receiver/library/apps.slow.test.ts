import { createServer } from "node:http";
import { join } from "node:path";
import express, { type RequestHandler } from "express";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createReceiver, type MountedReceiver, type ReceiverOptions } from "../../../receiver/index.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { listen } from "../../helpers/listen.ts";
import { newBody, SECRET, signatureFor } from "../helpers/events.ts";
import { chunkedRequest, open, rawRequest, readAnswer, sendRaw } from "../helpers/raw.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { APPS } from "./apps.ts";
import { express4, PATH, type StartApp } from "./installed-apps.ts";

/** In each app the mounted receiver answers exactly as the program. */

async function mount(start: StartApp, options: ReceiverOptions = {}) {
  const logLines: string[] = [];
  const receiver: MountedReceiver = await createReceiver({
    signingSecrets: [SECRET],
    databaseUrl: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
    environment: { MAX_BODY_BYTES: "100000" },
    logTo: (line) => void logLines.push(line),
    ...options,
  });
  const { url, close } = await start(receiver);
  onTestFinished(async () => {
    await close();
    await receiver.stop();
  });
  return { receiver, url, logLines };
}

const error = (code: string) => ({ error: code, message: expect.any(String) });

describe.each(Object.entries(APPS))("%s", (_name, start) => {
  test("stores signed events, recognizes duplicates, and refuses others with the same answers", async () => {
    const { receiver, url } = await mount(start);
    const send = async (options: Parameters<typeof rawRequest>[1]) => {
      const { status, json } = await sendRaw(url, rawRequest(url, options));
      return { status, json };
    };
    const body = newBody();
    const signature = signatureFor(body);
    const json = [["Content-Type", "application/json"]] as const;
    expect(await send({ body, headers: json })).toEqual({
      status: 200,
      json: { received: true, duplicate: false },
    });
    expect(await send({ body, headers: json })).toEqual({
      status: 200,
      json: { received: true, duplicate: true },
    });
    // Spaces are bytes, too.
    const spaced = Buffer.from(JSON.stringify(JSON.parse(newBody().toString()), undefined, 2));
    expect(await send({ body: spaced, headers: json })).toMatchObject({ status: 200 });
    expect(await send({ body: newBody() })).toMatchObject({ status: 200, json: { duplicate: false } });
    const chunked = newBody();
    expect(await sendRaw(url, chunkedRequest(url, chunked, 300, json))).toMatchObject({ status: 200 });

    for (const signatures of [[], [""], [signature, signature], [signatureFor(body, { secret: "other" })]])
      expect(await send({ body, headers: json, signatures })).toEqual({
        status: 401,
        json: error("invalid_signature"),
      });
    for (const [sent, code] of [
      [Buffer.from("{"), "invalid_json"],
      [Buffer.from("[]"), "invalid_event"],
    ] as const)
      expect(await send({ body: sent })).toEqual({ status: 400, json: error(code) });
    expect(await send({ body: newBody("call.completed", { padding: "x".repeat(100_000) }) })).toEqual({
      status: 413,
      json: error("body_too_large"),
    });
    const metrics = (await receiver.metrics()).body;
    expect(metrics).toContain('receiver_events_total{type="call.completed",result="stored"} 4');
    expect(await receiver.health()).toEqual({
      ready: true,
      checks: { database: "ok", disk: "ok", draining: "ok" },
    });
  });
});

/** A parser in front of the receiver checks encodings and sizes itself. */
const WITHOUT_PARSER = Object.entries(APPS).filter(([name]) => !/Nest|raw/.test(name));

test.each(WITHOUT_PARSER)(
  "%s: the refusal of a body that is too large reaches a client that sends all of it first",
  async (_name, start) => {
    const { url } = await mount(start);
    const body = Buffer.alloc(4_000_000);
    for (const request of [rawRequest(url, { body }), chunkedRequest(url, body, 100_000)]) {
      const socket = open(url);
      onTestFinished(() => void socket.destroy());
      await new Promise((sent, failed) => socket.once("error", failed).write(request, sent));
      expect(await readAnswer(socket)).toMatchObject({ status: 413 });
    }
  },
);

test.each(WITHOUT_PARSER)("%s: a compressed body is refused", async (_name, start) => {
  const { url } = await mount(start);
  const headers = [["Content-Encoding", "gzip"]] as const;
  expect(await sendRaw(url, rawRequest(url, { body: newBody(), headers }))).toMatchObject({
    status: 415,
    json: error("unsupported_encoding"),
  });
});

describe("behind a body parser", () => {
  const behind =
    (make: typeof express, ...parsers: RequestHandler[]): StartApp =>
    async ({ middleware }) => {
      const app = make();
      app.use(...parsers);
      app.post(PATH, middleware);
      const { url, close } = await listen(createServer(app));
      return { url: url + PATH, close };
    };

  test.each<[string, StartApp]>([
    ["express.json() of Express 5", behind(express, express.json())],
    ...(express4 === undefined
      ? []
      : [["express.json() of Express 4", behind(express4, express4.json())] satisfies [string, StartApp]]),
    ["express.text()", behind(express, express.text({ type: () => true }))],
    ["express.urlencoded() and express.json()", behind(express, express.urlencoded(), express.json())],
  ])("%s, 500 and a line of the log say which line to move, and nothing is stored", async (name, start) => {
    const { receiver, url, logLines } = await mount(start);
    const headers = [["Content-Type", "application/json"]] as const;
    expect(await sendRaw(url, rawRequest(url, { body: newBody(), headers }))).toMatchObject({
      status: 500,
      json: error("server_error"),
    });
    const said = logLines.filter((line) => line.includes("express.json()"));
    expect(said).toEqual([expect.stringMatching(/"level":"error".*Move the line of the body parser/)]);
    expect((await receiver.metrics()).body).toContain('reason="no_bytes"');
    expect((await receiver.metrics()).body).not.toContain("receiver_events_total{");
    // Bodies that the parser leaves alone are read as usual.
    const left = name.includes("text") ? 500 : 200;
    expect(await sendRaw(url, rawRequest(url, { body: newBody() }))).toMatchObject({ status: left });
  });

  test("that keeps the bytes: these are verified, and limited", async () => {
    const keep = express.json({
      limit: "1mb",
      verify: (request, _response, bytes) => void Object.assign(request, { rawBody: bytes }),
    });
    const { url } = await mount(behind(express, keep));
    const headers = [["Content-Type", "application/json"]] as const;
    expect(await sendRaw(url, rawRequest(url, { body: newBody(), headers }))).toMatchObject({ status: 200 });
    const large = newBody("call.completed", { padding: "x".repeat(100_000) });
    expect(await sendRaw(url, chunkedRequest(url, large, 200_000, headers))).toMatchObject({ status: 413 });
  });

  test("of the Fetch API, 500 says it as well", async () => {
    const { receiver, logLines } = await mount(APPS["node:http"]!);
    for (const headers of [{}, { "Content-Length": "700" }]) {
      const request = new Request("http://app.test/hook", { method: "POST", body: newBody(), headers });
      await request.text();
      expect((await receiver.fetch(request)).status).toBe(500);
    }
    const said = logLines.filter((line) => line.includes("Call receiver.fetch(request) before"));
    expect(said).toHaveLength(2);
  });
});

describe("a receiver in an app", () => {
  test("answers requests of the Fetch API as route handlers of Next.js get them", async () => {
    const { receiver } = await mount(APPS["node:http"]!);
    const { fetch: POST } = receiver;
    const body = newBody();
    const ask = (init: RequestInit) => POST(new Request("https://app.test/api/webhooks?x=1", init));
    const headers = { [SIGNATURE_HEADER]: signatureFor(body), "Content-Type": "application/json" };
    const stored = await ask({ method: "POST", body, headers });
    expect([stored.status, stored.headers.get("content-type"), await stored.json()]).toEqual([
      200,
      "application/json; charset=utf-8",
      { received: true, duplicate: false },
    ]);
    const twice = new Headers(headers);
    twice.append(SIGNATURE_HEADER, signatureFor(body));
    expect((await ask({ method: "POST", body, headers: twice })).status).toBe(401);
    const asked = await ask({});
    expect([asked.status, asked.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await ask({ method: "POST" })).status).toBe(401);
    const short = { ...headers, "Content-Length": "10" };
    const lied = await ask({ method: "POST", body: Buffer.alloc(100_001), headers: short });
    expect([lied.status, await lied.json()]).toEqual([413, error("body_too_large")]);
    const broken = () => new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) });
    for (const sent of [headers, short])
      expect((await ask({ method: "POST", body: broken(), duplex: "half", headers: sent })).status).toBe(400);
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(50_000)) });
    const large = await ask({ method: "POST", body: endless, duplex: "half", headers });
    expect([large.status, await large.json()]).toEqual([413, error("body_too_large")]);
  });

  test("passes on requests below its path, and answers every method on it", async () => {
    const start: StartApp = async ({ middleware }) => {
      const app = express();
      app.use(PATH, middleware);
      app.use((request, response) => void response.json({ passed: request.originalUrl }));
      const { url, close } = await listen(createServer(app));
      return { url: url + PATH, close };
    };
    const { url } = await mount(start);
    const below = await sendRaw(url, rawRequest(url, { path: `${PATH}/below?x`, body: newBody() }));
    expect(below.json).toEqual({ passed: `${PATH}/below?x` });
    const asked = await sendRaw(url, rawRequest(url, { method: "GET", path: `${PATH}?x=1` }));
    expect([asked.status, asked.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("stores the event, and breaks nothing if the app has already answered", async () => {
    const answers: Promise<void>[] = [];
    const start: StartApp = async ({ middleware }) => {
      const { url, close } = await listen(
        createServer((request, response) => {
          response.writeHead(504).end("too late");
          answers.push(middleware(request, response));
        }),
      );
      return { url: url + PATH, close };
    };
    const { receiver, url } = await mount(start);
    const answer = await fetch(url, {
      method: "POST",
      body: newBody(),
      headers: { [SIGNATURE_HEADER]: "t=1" },
    });
    expect(answer.status).toBe(504);
    const body = newBody();
    await fetch(url, { method: "POST", body, headers: { [SIGNATURE_HEADER]: signatureFor(body) } });
    await expect
      .poll(async () => (await receiver.metrics()).body)
      .toContain('receiver_events_total{type="call.completed",result="stored"} 1');
    await expect(Promise.all(answers)).resolves.toHaveLength(2);
  });

  test("logs the app's request id", async () => {
    const start: StartApp = async ({ middleware }) => {
      const app = express();
      app.use((request, _response, next) => {
        Object.assign(request, { id: "request-7" });
        next();
      });
      app.post(PATH, middleware);
      const { url, close } = await listen(createServer(app));
      return { url: url + PATH, close };
    };
    const { url, logLines } = await mount(start);
    await sendRaw(url, rawRequest(url, { body: newBody() }));
    const line = logLines.map((text) => JSON.parse(text) as object).at(-1);
    expect(line).toMatchObject({ msg: "answered", path: PATH, request_id: "request-7" });
  });

  test("runs beside other receivers, each with its own secret, database and stop", async () => {
    const [first, second] = [
      await mount(APPS["node:http"]!),
      await mount(APPS["node:http"]!, { signingSecrets: ["whsec_second"] }),
    ];
    const body = newBody();
    const signed = (secret: string) => ({ body, signatures: [signatureFor(body, { secret })] });
    for (const { url } of [first, second])
      expect(
        (await sendRaw(url, rawRequest(url, signed(url === first.url ? SECRET : "whsec_second")))).json,
      ).toEqual({ received: true, duplicate: false });
    const signals = process.eventNames().map((name) => [name, process.listenerCount(name)]);
    await first.receiver.stop();
    await first.receiver.stop();
    expect(process.eventNames().map((name) => [name, process.listenerCount(name)])).toEqual(signals);
    const drained = await sendRaw(first.url, rawRequest(first.url, signed(SECRET)));
    expect(drained).toMatchObject({ status: 503, json: error("unavailable") });
    expect(drained.headers.get("connection")).toBe("close");
    expect(await first.receiver.health()).toMatchObject({
      ready: false,
      checks: { draining: "shutting down" },
    });
    expect((await sendRaw(second.url, rawRequest(second.url, signed("whsec_second")))).json).toEqual({
      received: true,
      duplicate: true,
    });
  });

  test("answers received requests before it stops", async () => {
    const { receiver, url } = await mount(APPS["node:http"]!);
    const body = newBody();
    const socket = open(url);
    onTestFinished(() => void socket.destroy());
    const request = rawRequest(url, { body });
    socket.write(request.subarray(0, -5));
    // All sent bytes have arrived, because a later request has been answered.
    await sendRaw(url, rawRequest(url, { body: newBody() }));
    const stopped = receiver.stop();
    const answer = readAnswer(socket);
    socket.write(request.subarray(-5));
    expect(await answer).toMatchObject({ status: 200, json: { duplicate: false } });
    await stopped;
  });

  test.each<[string, ReceiverOptions, RegExp]>([
    ["no secret", { signingSecrets: [] }, /SIGNING_SECRET: is missing/],
    ["a secret with white space", { signingSecrets: [" whsec"] }, /SIGNING_SECRET: .*white space/],
    ["a secret with a comma", { signingSecrets: ["a,b"] }, /comma/],
    ["a folder that is not there", { databaseUrl: "sqlite:/nowhere/at/all.db" }, /no folder \/nowhere/],
    [
      "a number out of bounds",
      { environment: { RETENTION_DAYS: "0" } },
      /RETENTION_DAYS: must be a whole number/,
    ],
    ["an option that there is not", { retentionDay: 3 } as ReceiverOptions, /retentionDay/],
    ["a role that handles, and no handlers", { role: "all" }, /give it `handlers`/],
  ])("rejects %s, and says what to change", async (_name, options, words) => {
    const creating = createReceiver({
      signingSecrets: [SECRET],
      databaseUrl: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
      ...options,
    });
    await expect(creating).rejects.toThrow(words);
  });

  test("uses the environment's settings by default", async () => {
    vi.stubEnv("SIGNING_SECRET", "whsec_from_the_environment");
    vi.stubEnv("MAX_BODY_BYTES", "2048");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { url } = await mount(APPS["node:http"]!, { signingSecrets: undefined, environment: undefined });
    const body = newBody();
    const signatures = [signatureFor(body, { secret: "whsec_from_the_environment" })];
    expect((await sendRaw(url, rawRequest(url, { body, signatures }))).status).toBe(200);
    const large = Buffer.alloc(2_049);
    expect((await sendRaw(url, rawRequest(url, { body: large }))).status).toBe(413);
  });
});
