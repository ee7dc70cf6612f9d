import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { Router } from "express";
import { dashboardHeaders } from "./headers.ts";

/** What the import map names, in the files of the packages themselves: nothing is bundled. */
const VENDOR = {
  "preact.js": "preact",
  "preact-hooks.js": "preact/hooks",
  "htm.js": "htm",
} as const;

/**
 * The dashboard, at `/dashboard`: one page and plain modules, which do everything through the control API. Works
 * offline.
 */
export function createDashboard(): Router {
  const assets = fileURLToPath(new URL("public", import.meta.url));
  const page = withPreloads(readFileSync(join(assets, "index.html"), "utf8"), assets);
  const router = Router();
  router.get("/", (_request, response) => response.redirect("/dashboard"));
  router.use("/dashboard", dashboardHeaders(page));

  // Checked on each load, so that a newer version is never mixed with modules of an older one.
  const freshly = { cacheControl: false, setHeaders: noCache };
  for (const [name, specifier] of Object.entries(VENDOR)) {
    const file = fileURLToPath(import.meta.resolve(specifier));
    router.get(`/dashboard/vendor/${name}`, (_request, response) => {
      noCache(response);
      response.type("text/javascript").sendFile(file, { cacheControl: false, dotfiles: "allow" });
    });
  }
  router.use("/dashboard/assets", express.static(assets, { ...freshly, index: false, redirect: false }));
  router.use(["/dashboard/assets", "/dashboard/vendor"], (_request, response) => {
    response.status(404).type("text/plain").send("There is no such file.");
  });

  // Every other address is one of the page's own: it decides what to show.
  router.get(["/dashboard", "/dashboard/*path"], (_request, response) => {
    noCache(response);
    response.type("html").send(page);
  });
  return router;
}

/** Names every module in the page, so that a browser fetches all at once instead of one import after the other. */
function withPreloads(page: string, assets: string): string {
  const files = readdirSync(assets, { recursive: true, encoding: "utf8" }).map((file) =>
    file.replaceAll("\\", "/"),
  );
  const modules = files.filter((file) => file.endsWith(".js") && !page.includes(`/${file}"`)).toSorted();
  const links = modules.map((file) => `<link rel="modulepreload" href="/dashboard/assets/${file}" />`);
  return page.replace('<script type="module"', `${links.join("\n    ")}\n    <script type="module"`);
}

function noCache(response: { setHeader(name: string, value: string): unknown }): void {
  response.setHeader("Cache-Control", "no-cache");
}
