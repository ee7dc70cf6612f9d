import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { Webhooks, createNodeMiddleware } from "@octokit/webhooks";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { createReceiver, type MountedReceiver } from "../../receiver/index.ts";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";

/**
 * An endpoint as its library's documentation has it, in a separate process. Those of others store nothing; `mounted-…`
 * is this receiver inside an app, with its inbox in a separate folder.
 */
const SECRET = process.argv[3] ?? "";

const peers: Record<string, () => Server | Promise<Server>> = {
  /** Reads the body and answers. */
  express: () => {
    const app = express();
    app.post("/webhooks", express.raw({ type: () => true, limit: "1mb" }), (_request, response) => {
      response.json({ received: true });
    });
    return createServer(app);
  },
  /** The service signs as Stripe does; only the header's name differs. */
  stripe: () => {
    const app = express();
    app.post("/webhooks", express.raw({ type: () => true, limit: "1mb" }), (request, response) => {
      const body: unknown = request.body;
      if (!Buffer.isBuffer(body)) throw new Error("express.raw() sets a buffer");
      Stripe.webhooks.constructEvent(body, request.get(SIGNATURE_HEADER) ?? "", SECRET);
      response.json({ received: true });
    });
    return createServer(app);
  },
  octokit: () => {
    const webhooks = new Webhooks({ secret: SECRET });
    const middleware = createNodeMiddleware(webhooks, { path: "/webhooks" });
    return createServer((request, response) => void middleware(request, response));
  },
  standardwebhooks: () => {
    const webhook = new Webhook(Buffer.from(SECRET).toString("base64"));
    const app = express();
    app.post("/webhooks", express.raw({ type: () => true, limit: "1mb" }), (request, response) => {
      const body: unknown = request.body;
      if (!Buffer.isBuffer(body)) throw new Error("express.raw() sets a buffer");
      webhook.verify(body, {
        "webhook-id": request.get("webhook-id") ?? "",
        "webhook-timestamp": request.get("webhook-timestamp") ?? "",
        "webhook-signature": request.get("webhook-signature") ?? "",
      });
      response.json({ received: true });
    });
    return createServer(app);
  },
  "mounted-express": async () => {
    const { middleware } = await mounted();
    const app = express();
    app.post("/webhooks", middleware);
    return createServer(app);
  },
  "mounted-in-front": async () => {
    const { middleware } = await mounted();
    const app = express();
    return createServer((request, response) => {
      if (request.url === "/webhooks") void middleware(request, response);
      else app(request, response);
    });
  },
  "mounted-fastify": async () => {
    const { middleware } = await mounted();
    const app = fastify();
    app.post("/webhooks", {
      onRequest: async (request, reply) => {
        reply.hijack();
        await middleware(request.raw, reply.raw);
      },
      handler: () => undefined,
    });
    await app.ready();
    return app.server;
  },
  "mounted-hono": async () => {
    const receiver = await mounted();
    const app = new Hono();
    app.post("/webhooks", (context) => receiver.fetch(context.req.raw));
    const listener = getRequestListener(app.fetch);
    return createServer((request, response) => void listener(request, response));
  },
};

async function mounted(): Promise<MountedReceiver> {
  const folder = mkdtempSync(join(tmpdir(), "bench-mounted-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return createReceiver({
    signingSecrets: [SECRET],
    databaseUrl: `sqlite:${join(folder, "receiver.db")}`,
    environment: { MIN_FREE_DISK_BYTES: "1048576" },
  });
}

const server = await peers[process.argv[2] ?? ""]?.();
if (!server) throw new Error(`Unknown peer "${String(process.argv[2])}".`);
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.send?.((server.address() as AddressInfo).port);
process.once("disconnect", () => process.exit(0));
