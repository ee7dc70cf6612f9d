import { Router, type Router as RouterType } from "express";
import document from "./openapi.json" with { type: "json" };

/** `/openapi.json`, the service as OpenAPI 3.1 with this simulator as its server, and `/docs`, which leads to it to read. */
export function createOpenApi(): RouterType {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/openapi.json", (request, response) => {
    const url = `${request.protocol}://${request.headers.host ?? "localhost"}`;
    response.json({ ...document, servers: [{ url, description: "This simulator" }] });
  });
  router.get("/docs", (_request, response) => response.redirect("/dashboard/docs"));
  return router;
}
