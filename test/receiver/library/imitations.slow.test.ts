import { EventEmitter } from "node:events";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import fastify, { type FastifyInstance } from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { createReceiver, signForTest, type Middleware } from "../../../receiver/index.ts";
import { mountedPackages } from "../../helpers/mounted-packages.ts";
import { newBody, SECRET } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** Requests that node:http did not make: those of inject() in tests and of serverless platforms. Each is answered. */

type Answered = { statusCode: number; body: string };
type Sent = { method: string; url: string; headers: Record<string, string>; payload?: string };
type LambdaEvent = {
  httpMethod: string;
  path: string;
  headers: Record<string, string>;
  requestContext: object;
  body?: string | undefined;
  isBase64Encoded: boolean;
};
type Lambda = (event: LambdaEvent, context: object) => Promise<Answered>;
type MockResponse = { statusCode: number; _getData: () => string };
type Mocks = {
  createRequest: (options: object) => Parameters<Middleware>[0];
  createResponse: (options: object) => MockResponse & Parameters<Middleware>[1];
};

const packages = await mountedPackages();

async function mounted() {
  const lines: string[] = [];
  const receiver = await createReceiver({
    signingSecrets: [SECRET],
    databaseUrl: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
    logTo: (line) => void lines.push(line),
  });
  onTestFinished(() => receiver.stop());
  return { middleware: receiver.middleware, lines };
}

function fastifyWith(middleware: Middleware): FastifyInstance {
  const app = fastify();
  app.post("/hooks", {
    onRequest: async (request, reply) => {
      reply.hijack();
      await middleware(request.raw, reply.raw);
    },
    handler: () => undefined,
  });
  return app;
}

const lambdaEvent = ({ method, url, headers, payload }: Sent, isBase64Encoded: boolean): LambdaEvent => ({
  httpMethod: method,
  path: url,
  headers,
  requestContext: {},
  body:
    payload === undefined ? undefined : Buffer.from(payload).toString(isBase64Encoded ? "base64" : "utf8"),
  isBase64Encoded,
});

const serverless = async (app: RequestListener | FastifyInstance, name: string): Promise<Lambda> => {
  const { default: wrap } = await packages!.load<{ default: (app: unknown, options?: object) => Lambda }>(
    name,
  );
  return wrap(app, { decorateRequest: false });
};

const WAYS: Record<string, (middleware: Middleware) => Promise<(sent: Sent) => Promise<Answered>>> = {
  "light-my-request": async (middleware) => {
    type Inject = (listener: RequestListener, sent: Sent) => Promise<Answered>;
    const { default: inject } = await packages!.load<{ default: Inject }>("light-my-request");
    return (sent) => inject((request, response) => void middleware(request, response), sent);
  },
  "inject() of Fastify": async (middleware) => {
    const app = fastifyWith(middleware);
    return async ({ method, ...sent }) => app.inject({ method: method === "POST" ? "POST" : "GET", ...sent });
  },
  "@fastify/aws-lambda": async (middleware) => {
    const run = await serverless(fastifyWith(middleware), "@fastify/aws-lambda");
    return (sent) => run(lambdaEvent(sent, true), {});
  },
  "serverless-http": async (middleware) => {
    const run = await serverless(
      (request, response) => void middleware(request, response),
      "serverless-http",
    );
    return (sent) => run(lambdaEvent(sent, false), {});
  },
  "node-mocks-http": async (middleware) => {
    const mocks = await packages!.load<Mocks & { default: Mocks }>("node-mocks-http");
    return async ({ payload = "", ...sent }) => {
      const response = mocks.default.createResponse({ eventEmitter: EventEmitter });
      await middleware(mocks.default.createRequest({ ...sent, body: Buffer.from(payload) }), response);
      return { statusCode: response.statusCode, body: response._getData() };
    };
  },
};

describe.skipIf(packages === undefined).each(Object.entries(WAYS))("%s", (_name, way) => {
  test("has its events stored, and every other request refused as usual", async () => {
    const { middleware, lines } = await mounted();
    const send = await way(middleware);
    const payload = newBody().toString();
    const ask = async (headers: Record<string, string>, more: Partial<Sent> = {}) => {
      const { statusCode, body } = await send({ method: "POST", url: "/hooks", headers, payload, ...more });
      return [statusCode, body];
    };
    const signature = signForTest({ body: payload, secret: SECRET });
    const stored = (duplicate: boolean) => [200, JSON.stringify({ received: true, duplicate })];
    expect(await ask({ "X-Service-Signature": signature })).toEqual(stored(false));
    expect(await ask({ "x-service-signature": signature })).toEqual(stored(true));
    expect(await ask({})).toEqual([401, expect.stringContaining('"invalid_signature"')]);
    const other = { "X-Service-Signature": signForTest({ body: payload, secret: "other" }) };
    expect(await ask(other)).toEqual([401, expect.stringContaining('"invalid_signature"')]);
    const large = await ask({}, { payload: "x".repeat(1_048_577) });
    expect(large).toEqual([413, expect.stringContaining('"body_too_large"')]);
    expect(lines.join("\n")).not.toContain("a bug");
  });
});
