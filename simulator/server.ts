import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type ErrorRequestHandler, type Express } from "express";
import { createApi } from "./api/router.ts";
import { createRecordings } from "./api/recordings.ts";
import { answerError } from "./control/answers.ts";
import { changeGuard, hostGuard, tokenGuard } from "./control/guard.ts";
import { createControl } from "./control/router.ts";
import { createDashboard } from "./dashboard/router.ts";
import { createOpenApi } from "./openapi/router.ts";
import type { Simulator } from "./simulator.ts";

export type ServerOptions = {
  port: number;
  /** The address to bind to: loopback unless told otherwise. */
  host: string;
  /** Wanted from everybody once bound wider than loopback. */
  token?: string;
  apiFaults?: Parameters<typeof createApi>[0]["faults"];
  /** Where bugs go; a caller only learns that there was one. */
  onError: (error: unknown) => void;
};

export type RunningServer = { url: string; port: number; close(): Promise<void> };

export type ListenResult = { ok: true; server: RunningServer } | { ok: false; message: string };

/** Serves the REST API, the dashboard and the control API on one port. */
export async function listen(simulator: Simulator, options: ServerOptions): Promise<ListenResult> {
  const ownHosts = new Set<string>();
  const app = createApp(simulator, options, (host) => ownHosts.has(host));
  const server = createServer(app);
  const problem = await bind(server, options);
  if (problem !== undefined) return { ok: false, message: problem };

  const { port } = addressOf(server);
  const shownHost = isWildcard(options.host) ? "localhost" : options.host;
  for (const host of ["localhost", "127.0.0.1", "[::1]", bracketed(options.host)])
    ownHosts.add(`${host}:${port}`);
  if (port === 80)
    for (const host of ["localhost", "127.0.0.1", "[::1]", bracketed(options.host)]) ownHosts.add(host);
  const url = `http://${bracketed(shownHost)}:${port}`;
  simulator.setBaseUrl(url);

  return {
    ok: true,
    server: {
      url,
      port,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          // Streams and kept-alive connections would hold it open for ever.
          server.closeAllConnections();
        }),
    },
  };
}

function createApp(
  simulator: Simulator,
  options: ServerOptions,
  isOwnHost: (host: string) => boolean,
): Express {
  const { readings, world } = simulator;
  const { onError, apiFaults } = options;
  const app = express();
  app.disable("x-powered-by");
  app.set("query parser", "simple");
  app.use(hostGuard((host) => isOwnHost(host) || isNetworkHost(host, options)));

  app.use("/api/v1", createApi({ world, readings, onError, ...(apiFaults && { faults: apiFaults }) }));
  app.use("/recordings", createRecordings({ world }));

  app.use(createOpenApi());

  if (options.token !== undefined) app.use(tokenGuard(options.token));
  app.use("/control", changeGuard(isOwnHost), createControl(simulator));
  app.use(createDashboard());
  app.use((request, response) => {
    answerError(
      response,
      404,
      "not_found",
      `There is nothing at ${request.path}: the dashboard is at /dashboard.`,
    );
  });
  app.use(errorHandler(onError));
  return app;
}

/** With a token, machines of the network reach us by whatever name they have for us. */
function isNetworkHost(host: string, options: ServerOptions): boolean {
  return options.token !== undefined && host !== "" && isWildcard(options.host);
}

function errorHandler(onError: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    const status = isRefusedUnread(error) ? 400 : statusOf(error);
    if (status === 413)
      return answerError(response, 413, "too_large", "The body is larger than this simulator takes.");
    if (status !== undefined && status < 500) {
      return answerError(
        response,
        status,
        "invalid_request",
        `The request could not be read: ${messageOf(error)}.`,
      );
    }
    onError(error);
    answerError(response, 500, "server_error", "The simulator failed; its output says why.");
  };
}

/** A body that was looked at and not even parsed. */
function isRefusedUnread(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "type" in error && error.type === "entity.verify.failed"
  );
}

function statusOf(error: unknown): number | undefined {
  const hasStatus = typeof error === "object" && error !== null && "status" in error;
  return hasStatus && typeof error.status === "number" ? error.status : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function bind(server: Server, options: ServerOptions): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(explainBind(error, options)));
    server.listen({ port: options.port, host: options.host }, () => resolve(undefined));
  });
}

function explainBind(error: NodeJS.ErrnoException, { port, host }: ServerOptions): string {
  if (error.code === "EADDRINUSE") {
    return `Port ${port} on ${host} is taken (another simulator?): stop what runs there, or choose another with --port.`;
  }
  if (error.code === "EACCES")
    return `Port ${port} needs more rights than you have: choose one above 1023 with --port.`;
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return `This machine has no address ${host}: leave --host out to bind to loopback.`;
  }
  return `Cannot listen on ${host}:${port}: ${error.message}.`;
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A listening server has an address.");
  return address;
}

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
