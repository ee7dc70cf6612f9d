import { Router, type Router as RouterType } from "express";
import { THIS_SIMULATOR } from "../text/invocation.ts";

/**
 * `/openapi.json`, the service as OpenAPI 3.1 with this simulator as its server, and `/docs`, which leads to it to read.
 * The document is loaded when somebody asks: most runs end without, and all of them are to start at once.
 */
export function createOpenApi(): RouterType {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/openapi.json", async (request, response) => {
    const { default: document } = await import("./openapi.json", { with: { type: "json" } });
    const url = `${request.protocol}://${request.headers.host ?? "localhost"}`;
    response.json({ ...document, servers: [{ url, description: THIS_SIMULATOR }] });
  });
  router.get("/docs", (_request, response) => response.redirect("/dashboard/docs"));
  return router;
}
