import express, { type ErrorRequestHandler, type Express } from "express";
import { createApi } from "../api/router.ts";
import { createRecordings } from "../api/recordings.ts";
import { answerError } from "../control/answers.ts";
import { changeGuard, hostGuard, tokenGuard } from "../control/guard.ts";
import { createControl } from "../control/router.ts";
import { createDashboard } from "../dashboard/router.ts";
import { createOpenApi } from "../openapi/router.ts";
import { STATUS_OF } from "../domain/refused.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { messageOf } from "../text/errors.ts";

export type AppOptions = {
  /** Required by the dashboard and the control API when bound wider than loopback; not by the REST API. */
  token?: string | undefined;
  /** Gets bugs; a caller only gets a 500. */
  onError: (error: unknown) => void;
  /** Whether a `Host` names this simulator, as seen from this machine or from its network. */
  isOwnHost: (host: string) => boolean;
  isNetworkHost: (host: string) => boolean;
};

export function createApp(simulator: Simulator, options: AppOptions): Express {
  const { readings, world } = simulator;
  const { onError, isOwnHost, isNetworkHost } = options;
  const app = express();
  app.disable("x-powered-by");
  app.set("query parser", "simple");
  // Paths are case-sensitive, and host names are not.
  app.set("case sensitive routing", true);
  app.use(hostGuard((host) => isOwnHost(host) || isNetworkHost(host)));

  app.use("/api/v1", createApi({ world, readings, onError }));
  app.use("/recordings", createRecordings({ world }));

  app.use(createOpenApi());

  if (options.token !== undefined) app.use(tokenGuard(options.token));
  app.use("/control", changeGuard(isOwnHost), createControl(simulator));
  app.use(createDashboard());
  app.use((request, response) => {
    answerError(response, "not_found", `${request.path} does not exist: the dashboard is at /dashboard.`);
  });
  app.use(errorHandler(onError));
  return app;
}

function errorHandler(onError: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    const status = isRefusedUnread(error) ? STATUS_OF.invalid_request : statusOf(error);
    if (status === STATUS_OF.too_large)
      return answerError(response, "too_large", "The body is too large for this simulator.");
    if (status !== undefined && status < STATUS_OF.server_error) {
      const isOfType = status === STATUS_OF.unsupported_media_type;
      const code = isOfType ? "unsupported_media_type" : "invalid_request";
      return answerError(response, code, `The request could not be read: ${messageOf(error)}.`);
    }
    onError(error);
    answerError(response, "server_error", "The simulator failed; its output says why.");
  };
}

function isRefusedUnread(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "type" in error && error.type === "entity.verify.failed"
  );
}

function statusOf(error: unknown): number | undefined {
  const hasStatus = typeof error === "object" && error !== null && "status" in error;
  return hasStatus && typeof error.status === "number" ? error.status : undefined;
}
