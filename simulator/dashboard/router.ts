import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { Router } from "express";
import { RETRY_DELAYS_SECONDS } from "../../shared/retry-policy.ts";
import { dashboardHeaders } from "./headers.ts";

/** What the import map and the style sheets name, in the files of the packages themselves: nothing is bundled. */
const VENDOR = {
  "preact.js": import.meta.resolve("preact"),
  "preact-hooks.js": import.meta.resolve("preact/hooks"),
  "htm.js": import.meta.resolve("htm"),
  "inter-latin.woff2": import.meta.resolve("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2"),
  "inter-latin-ext.woff2": import.meta
    .resolve("@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2"),
};

/** The retry policy as a module of the page: it stands once, in `shared`. */
const RETRY_POLICY = {
  file: "core/retry-policy.js",
  source: `export const RETRY_DELAYS_SECONDS = ${JSON.stringify(RETRY_DELAYS_SECONDS)};\n`,
};

/**
 * The dashboard, at `/dashboard`: one page and plain modules, which do everything through the control API, and read the
 * world through the REST API. Works offline.
 */
export function createDashboard(): Router {
  const assets = fileURLToPath(new URL("public", import.meta.url));
  const page = withAssets(readFileSync(join(assets, "index.html"), "utf8"), assets);
  const router = Router();
  router.get("/", (_request, response) => response.redirect("/dashboard"));
  router.use("/dashboard", dashboardHeaders(page));

  // Checked on each load, so that a newer version is never mixed with modules of an older one.
  const freshly = { cacheControl: false, setHeaders: noCache };
  for (const [name, url] of Object.entries(VENDOR)) {
    const file = fileURLToPath(url);
    router.get(`/dashboard/vendor/${name}`, (_request, response) => {
      noCache(response);
      response.type(extname(name)).sendFile(file, { cacheControl: false, dotfiles: "allow" });
    });
  }
  router.get(`/dashboard/assets/${RETRY_POLICY.file}`, (_request, response) => {
    noCache(response);
    response.type(".js").send(RETRY_POLICY.source);
  });
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

/**
 * Names every style sheet and every module in the page, so that a browser fetches all at once instead of one import
 * after the other. The tokens come first: all other sheets build on them, and none on another.
 */
function withAssets(page: string, assets: string): string {
  const files = readdirSync(assets, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .toSorted();
  const sheets = files.filter((file) => file.endsWith(".css"));
  const modules = [...files, RETRY_POLICY.file].filter(
    (file) => file.endsWith(".js") && !page.includes(`/${file}"`),
  );
  const styles = [...sheets.filter(isFirst), ...sheets.filter((file) => !isFirst(file))].map(
    (file) => `<link rel="stylesheet" href="/dashboard/assets/${file}" />`,
  );
  const preloads = modules.map((file) => `<link rel="modulepreload" href="/dashboard/assets/${file}" />`);
  // A module that is fetched before the import map stands would be fetched without it.
  return page
    .replace("<script src", `${styles.join("\n    ")}\n    <script src`)
    .replace('<script type="module"', `${preloads.join("\n    ")}\n    <script type="module"`);
}

function isFirst(sheet: string): boolean {
  return sheet === "styles/tokens.css" || sheet === "styles/base.css";
}

function noCache(response: { setHeader(name: string, value: string): unknown }): void {
  response.setHeader("Cache-Control", "no-cache");
}
