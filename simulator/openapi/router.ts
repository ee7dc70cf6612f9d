import { Router, type Router as RouterType } from "express";
import { THIS_SIMULATOR } from "../text/invocation.ts";

/** `/openapi.json` with this simulator as its server, loaded on demand, and `/docs`, which redirects to its page. */
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
