import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type express from "express";
import type { MountedReceiver } from "../../../receiver/index.ts";
import { listen } from "../../helpers/listen.ts";
import { mountedPackages } from "../../helpers/mounted-packages.ts";

/** Starts an app with the receiver in it, the way its README says, and returns where webhooks go. */
export type StartApp = (receiver: MountedReceiver) => Promise<{ url: string; close: () => Promise<unknown> }>;

export const PATH = "/in/webhooks";

export async function listening(server: Server): ReturnType<StartApp> {
  const { url, close } = await listen(server);
  return { url: url + PATH, close };
}

const packages = await mountedPackages();

/** Express 4, with the types of Express 5, which suffice here. Undefined if it cannot be installed. */
export const express4 = (await packages?.load<{ default: typeof express }>("express4"))?.default;

/** The apps on frameworks that only `examples/mounted` installs; none if that fails. */
export async function installedApps(): Promise<Record<string, StartApp>> {
  if (packages === undefined || express4 === undefined) return {};
  const { default: koa } = await packages.load<{ default: Koa }>("koa");
  await packages.load("reflect-metadata");
  const common = await packages.load<NestCommon>("@nestjs/common");
  const core = await packages.load<NestCore>("@nestjs/core");
  return { "Express 4": onExpress4(express4), Koa: onKoa(koa), NestJS: onNest(common, core) };
}

const onExpress4 =
  (make: typeof express): StartApp =>
  async ({ middleware }) => {
    const app = make();
    app.post(PATH, middleware);
    app.use(make.json());
    return listening(createServer(app));
  };

/** The parts that we use of frameworks whose types are not installed here. */
type KoaContext = { path: string; respond: boolean; req: IncomingMessage; res: ServerResponse };
type Koa = new () => {
  use: (middleware: (context: KoaContext, next: () => Promise<void>) => Promise<void>) => void;
  callback: () => RequestListener;
};
type NestCommon = {
  Controller: () => ClassDecorator;
  Post: (path: string) => MethodDecorator;
  Req: () => ParameterDecorator;
  Res: () => ParameterDecorator;
};
type NestApp = {
  listen: (port: number, host: string) => Promise<void>;
  getUrl: () => Promise<string>;
  close: () => Promise<void>;
};
type NestCore = { NestFactory: { create: (module: object, options: object) => Promise<NestApp> } };

const onKoa =
  (Made: Koa): StartApp =>
  async ({ middleware }) => {
    const app = new Made();
    app.use(async (context, next) => {
      if (context.path !== PATH) return next();
      context.respond = false;
      await middleware(context.req, context.res);
    });
    return listening(createServer(app.callback()));
  };

const onNest =
  ({ Controller, Post, Req, Res }: NestCommon, { NestFactory }: NestCore): StartApp =>
  async ({ middleware }) => {
    // The same as decorators, without their syntax.
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
  };
