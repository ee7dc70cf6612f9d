import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhooks, createNodeMiddleware } from "@octokit/webhooks";
import express from "express";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";

/** An endpoint as its library's documentation has it, in a process of its own. None of them stores anything. */
const SECRET = process.argv[3] ?? "";

const peers: Record<string, () => ReturnType<typeof createServer>> = {
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
};

const server = peers[process.argv[2] ?? ""]?.();
if (!server) throw new Error(`There is no peer "${String(process.argv[2])}".`);
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.send?.((server.address() as AddressInfo).port);
process.once("disconnect", () => process.exit(0));
