import { hash } from "node:crypto";
import { Router, type Router as RouterType } from "express";
import { STYLE, renderDocs } from "./docs.ts";
import document from "./openapi.json" with { type: "json" };

/** `/openapi.json`, the service as OpenAPI 3.1 with this simulator as its server, and `/docs`, the same to read. */
export function createOpenApi(): RouterType {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/openapi.json", (request, response) => {
    const url = `${request.protocol}://${request.headers.host ?? "localhost"}`;
    response.json({ ...document, servers: [{ url, description: "This simulator" }] });
  });
  const page = renderDocs(document);
  const policy = `default-src 'none'; style-src 'sha256-${hash("sha256", STYLE, "base64")}'; frame-ancestors 'none'`;
  router.get("/docs", (_request, response) => {
    response
      .set("Content-Security-Policy", policy)
      .set("X-Content-Type-Options", "nosniff")
      .type("html")
      .send(page);
  });
  return router;
}
