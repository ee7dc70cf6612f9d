import { createServer } from "node:http";
import { serve as serveHono } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { installedApps, listening, PATH, type StartApp } from "./installed-apps.ts";

function expressApp(mount: "post" | "use" | "router"): StartApp {
  return async ({ middleware }) => {
    const app = express();
    if (mount === "post") app.post(PATH, middleware);
    if (mount === "use") app.use(PATH, middleware);
    if (mount === "router") {
      const router = express.Router();
      router.post("/webhooks", middleware);
      app.use("/in", router);
    }
    app.use(express.json());
    return listening(createServer(app));
  };
}

export const APPS: Record<string, StartApp> = {
  "node:http": async ({ middleware }) =>
    listening(createServer((request, response) => void middleware(request, response))),
  "Express 5": expressApp("post"),
  "Express 5, app.use": expressApp("use"),
  "Express 5, in a router": expressApp("router"),
  "Express 5 behind express.raw": async ({ middleware }) => {
    const app = express();
    app.post(PATH, express.raw({ type: () => true, limit: "2mb" }), middleware);
    return listening(createServer(app));
  },
  "Fastify 5": async ({ middleware }) => {
    const app = fastify();
    app.post(PATH, {
      // Before Fastify parses the body.
      onRequest: async (request, reply) => {
        reply.hijack();
        await middleware(request.raw, reply.raw);
      },
      handler: () => undefined,
    });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url: url + PATH, close: () => app.close() };
  },
  Hono: async ({ fetch }) => {
    const app = new Hono();
    app.post(PATH, (context) => fetch(context.req.raw));
    return new Promise((resolve) => {
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
        resolve({
          url: `http://127.0.0.1:${String(port)}${PATH}`,
          close: () => new Promise((closed) => server.close(closed)),
        }),
      );
    });
  },
  ...(await installedApps()),
};
