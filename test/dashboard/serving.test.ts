import { createHash } from "node:crypto";
import { createServer, request } from "node:http";
import express from "express";
import { expect, test } from "vitest";
import { RETRY_DELAYS_SECONDS } from "../../shared/retry-policy.ts";
import { changeGuard } from "../../simulator/control/guard.ts";
import { listen } from "../helpers/listen.ts";
import { openDashboard } from "./open-dashboard.ts";

test("the page lets a browser run our own files and nothing else", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const response = await fetch(url);
  const page = await response.text();
  const policy = Object.fromEntries(
    String(response.headers.get("content-security-policy"))
      .split(";")
      .map((directive) => directive.trim().split(" "))
      .map(([name = "", ...sources]) => [name, sources]),
  );
  const [, importMap = ""] = /<script type="importmap">(.*?)<\/script>/s.exec(page) ?? [];
  const hash = createHash("sha256").update(importMap).digest("base64");

  expect(policy).toMatchObject({
    "default-src": ["'none'"],
    "script-src": ["'self'", `'sha256-${hash}'`],
    "style-src": ["'self'"],
    "connect-src": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'none'"],
    "require-trusted-types-for": ["'script'"],
  });
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  expect(response.headers.get("strict-transport-security")).toBeNull();
  expect(response.headers.get("access-control-allow-origin")).toBeNull();
});

test("the page has the retry policy from where it stands, and no script of its own repeats it", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await (await fetch(url)).text();
  const scripts = [...page.matchAll(/"(\/dashboard\/assets\/[^"]+\.js)"/g)].map(([, file = ""]) => file);
  const isServed = (file: string) => file.endsWith("/core/retry-policy.js");
  const source = await (await fetch(new URL(scripts.find(isServed) ?? "", url))).text();
  expect(source).toBe(`export const RETRY_DELAYS_SECONDS = ${JSON.stringify(RETRY_DELAYS_SECONDS)};\n`);
  for (const file of scripts.filter((script) => !isServed(script)))
    expect(await (await fetch(new URL(file, url))).text()).not.toMatch(/43_?200/);
});

test("the import map is the only script inside the page, and every file that the page names is served", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await (await fetch(url)).text();
  const inline = [...page.matchAll(/<script(?![^>]*\ssrc=)([^>]*)>/g)].map(([, attributes]) =>
    attributes?.trim(),
  );
  expect(inline).toEqual(['type="importmap"']);
  expect(page).not.toMatch(/\son\w+=|\sstyle=|<style|https?:/);

  const files = [...page.matchAll(/"(\/dashboard\/(?:assets|vendor)\/[^"]+)"/g)].map(
    ([, file]) => file ?? "",
  );
  expect(files.length).toBeGreaterThan(50);
  for (const file of files) {
    const response = await fetch(new URL(file, url));
    expect({ file, status: response.status }).toEqual({ file, status: 200 });
    expect(response.headers.get("content-type")).toMatch(
      /^(text\/(javascript|css)|image\/svg\+xml|font\/woff2)/,
    );
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(response.headers.get("etag")).not.toBeNull();
    await response.arrayBuffer();
  }
});

test("every address below /dashboard is a page, and / leads there", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await (await fetch(url)).text();
  expect(await (await fetch(`${url}/deliveries/dlv_1`)).text()).toBe(page);
  const root = await fetch(new URL("/", url), { redirect: "manual" });
  expect([root.status, root.headers.get("location")]).toEqual([302, "/dashboard"]);
});

test("nothing outside of the public files can be had", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const { port } = new URL(url);
  for (const path of [
    "/dashboard/assets/",
    "/dashboard/assets/nothing.js",
    "/dashboard/assets/../router.ts",
    "/dashboard/assets/..%2frouter.ts",
    "/dashboard/assets/%2e%2e/router.ts",
    "/dashboard/vendor/..%2f..%2fpackage.json",
    "/dashboard/vendor/nothing.js",
  ]) {
    expect({ path, status: await rawStatus(Number(port), path) }).toEqual({ path, status: 404 });
  }
});

test("a page of another site that calls this machine by its own name gets nothing", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const { port } = new URL(url);
  for (const path of ["/dashboard", "/dashboard/assets/app.js", "/control/stream", "/control/endpoints"]) {
    const status = await rawStatus(Number(port), path, { host: `evil.example:${port}` });
    expect({ path, status }).toEqual({ path, status: 421 });
  }
});

test("a change comes from our own page, under whatever name it was reached", async () => {
  const app = express();
  app.use(changeGuard(() => false));
  app.use((_request, response) => void response.status(204).end());
  const { port } = await listen(createServer(app));
  const post = (headers: Record<string, string>) =>
    rawStatus(port, "/", { "content-type": "application/json", host: "box.lan:4010", ...headers }, "POST");

  expect(await post({})).toBe(204);
  expect(await post({ origin: "http://box.lan:4010" })).toBe(204);
  expect(await post({ origin: "http://box.lan:4011" })).toBe(403);
  expect(await post({ origin: "http://evil.example" })).toBe(403);
  expect(await post({ origin: "null" })).toBe(403);
  expect(await post({ origin: "http://box.lan:4010", "content-type": "text/plain" })).toBe(415);
});

/** Without a client that tidies the path up first. */
function rawStatus(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", path, headers, method }, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}
