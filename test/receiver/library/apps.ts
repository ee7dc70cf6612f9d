import "reflect-metadata";
import { createServer, type Server } from "node:http";
import { serve as serveHono } from "@hono/node-server";
import { Controller, Post, Req, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import type { MountedReceiver } from "../../../receiver/index.ts";
import { listen } from "../../helpers/listen.ts";

/** Starts an app with the receiver in it, the way its README says, and answers where webhooks go. */
export type StartApp = (receiver: MountedReceiver) => Promise<{ url: string; close: () => Promise<unknown> }>;

export const PATH = "/in/webhooks";

async function listening(server: Server): ReturnType<StartApp> {
  const { url, close } = await listen(server);
  return { url: url + PATH, close };
}

/** Express 4 and 5, which are told apart by nothing here. */
function expressApp(make: typeof express, mount: "post" | "use" | "router"): StartApp {
  return async ({ middleware }) => {
    const app = make();
    if (mount === "post") app.post(PATH, middleware);
    if (mount === "use") app.use(PATH, middleware);
    if (mount === "router") {
      const router = make.Router();
      router.post("/webhooks", middleware);
      app.use("/in", router);
    }
    app.use(make.json());
    return listening(createServer(app));
  };
}

async function nest({ middleware }: MountedReceiver): ReturnType<StartApp> {
  // What the decorators say, without decorators.
  class Webhooks {
    async receive(request: Parameters<typeof middleware>[0], response: Parameters<typeof middleware>[1]) {
      await middleware(request, response);
    }
  }
  const { prototype } = Webhooks;
  Req()(prototype, "receive", 0);
  Res()(prototype, "receive", 1);
  Post(PATH)(prototype, "receive", Object.getOwnPropertyDescriptor(prototype, "receive") ?? {});
  Controller()(Webhooks);
  const app = await NestFactory.create(
    { module: Webhooks, controllers: [Webhooks] },
    { rawBody: true, logger: false },
  );
  await app.listen(0, "127.0.0.1");
  return { url: `${(await app.getUrl()).replace("[::1]", "127.0.0.1")}${PATH}`, close: () => app.close() };
}

export const APPS: Record<string, StartApp> = {
  "node:http": async ({ middleware }) =>
    listening(createServer((request, response) => void middleware(request, response))),
  "Express 5": expressApp(express, "post"),
  "Express 5, app.use": expressApp(express, "use"),
  "Express 5, in a router": expressApp(express, "router"),
  "Express 4": expressApp(express4, "post"),
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
  Koa: async ({ middleware }) => {
    const app = new Koa();
    app.use(async (context, next) => {
      if (context.path !== PATH) {
        await next();
        return;
      }
      context.respond = false;
      await middleware(context.req, context.res);
    });
    return listening(createServer((request, response) => void app.callback()(request, response)));
  },
  NestJS: nest,
};
