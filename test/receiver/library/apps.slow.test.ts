import { createServer } from "node:http";
import { join } from "node:path";
import express, { type RequestHandler } from "express";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createReceiver, defineHandler, type MountedReceiver } from "../../../receiver/index.ts";
import type { ReceiverOptions } from "../../../receiver/index.ts";
import { listen } from "../../helpers/listen.ts";
import { newBody, post, SECRET, signatureFor } from "../helpers/events.ts";
import { chunkedRequest, open, rawRequest, readAnswer, sendRaw } from "../helpers/raw.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
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
const refused = (status: number, code: string) => ({ status, json: error(code) });

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
    for (const duplicate of [false, true]) {
      const stored = { status: 200, json: { received: true, duplicate } };
      expect(await send({ body, headers: json })).toEqual(stored);
    }
    // Spaces are bytes, too.
    const spaced = Buffer.from(JSON.stringify(JSON.parse(newBody().toString()), undefined, 2));
    expect(await send({ body: spaced, headers: json })).toMatchObject({ status: 200 });
    expect(await send({ body: newBody() })).toMatchObject({ status: 200, json: { duplicate: false } });
    const chunked = newBody();
    expect(await sendRaw(url, chunkedRequest(url, chunked, 300, json))).toMatchObject({ status: 200 });

    for (const signatures of [[], [""], [signature, signature], [signatureFor(body, { secret: "other" })]])
      expect(await send({ body, headers: json, signatures })).toEqual(refused(401, "invalid_signature"));
    for (const [sent, code] of [
      [Buffer.from("{"), "invalid_json"],
      [Buffer.from("[]"), "invalid_event"],
    ] as const)
      expect(await send({ body: sent })).toEqual(refused(400, code));
    const large = newBody("call.completed", { padding: "x".repeat(100_000) });
    expect(await send({ body: large })).toEqual(refused(413, "body_too_large"));
    const metrics = (await receiver.metrics()).body;
    expect(metrics).toContain('receiver_events_total{type="call.completed",result="stored"} 4');
    const checks = { database: "ok", disk: "ok", draining: "ok" };
    expect(await receiver.health()).toEqual({ ready: true, checks });
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
  const answer = await sendRaw(url, rawRequest(url, { body: newBody(), headers }));
  expect(answer).toMatchObject(refused(415, "unsupported_encoding"));
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
    const answer = await sendRaw(url, rawRequest(url, { body: newBody(), headers }));
    expect(answer).toMatchObject(refused(500, "server_error"));
    const said = logLines.filter((line) => line.includes("express.json()"));
    expect(said).toEqual([expect.stringMatching(/"level":"error".*Move the line of the body parser/)]);
    expect((await receiver.metrics()).body).toContain('reason="no_bytes"');
    expect((await receiver.metrics()).body).not.toContain("receiver_events_total{");
    // Bodies that the parser leaves alone are read as usual.
    const left = name.includes("text") ? 500 : 200;
    expect(await sendRaw(url, rawRequest(url, { body: newBody() }))).toMatchObject({ status: left });
  });
});

describe("a receiver in an app", () => {
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

  test("says in its health and metrics that it handles nothing more, once a handler ignores its deadline", async () => {
    const handle = async () => new Promise(() => undefined);
    const quick = { SHUTDOWN_TIMEOUT_SECONDS: "1" };
    const handlers = [defineHandler({ name: "stuck", type: "*", timeoutSeconds: 0.1, handle })];
    const { receiver, url } = await mount(APPS["node:http"]!, { handlers, environment: quick });
    await post(url, newBody());
    await until(async () => (await receiver.health()).checks["handlers"] === "broken");
    expect((await receiver.metrics()).body).toContain("receiver_worker_up 0");
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
