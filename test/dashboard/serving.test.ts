import { createHash } from "node:crypto";
import { get, request } from "node:http";
import { expect, test } from "vitest";
import { openDashboard } from "./open-dashboard.ts";

test("the page's policy allows only our own files", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const response = await fetch(url);
  const page = await response.text();
  const policy = Object.fromEntries(
    String(response.headers.get("content-security-policy"))
      .split(";")
      .map((directive) => directive.trim().split(" "))
      .map(([name = "", ...sources]) => [name, sources]),
  );
  const [, script = ""] = /<script>(.*?)<\/script>/s.exec(page) ?? [];
  const [, style = ""] = /<style>(.*?)<\/style>/s.exec(page) ?? [];
  const [hash, styleHash] = [script, style].map((text) => createHash("sha256").update(text).digest("base64"));

  expect(policy).toMatchObject({
    "default-src": ["'none'"],
    "script-src": ["'self'", `'sha256-${hash}'`],
    "style-src": ["'self'", `'sha256-${styleHash}'`],
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

/** What a browser requests on its first visit: the page and all files that it names. */
async function firstLoad(url: string): Promise<{ file: string; response: Response; body: Buffer }[]> {
  const ask = async (file: string) => {
    const response = await fetch(new URL(file, url), { headers: { "accept-encoding": "identity" } });
    return { file, response, body: Buffer.from(await response.arrayBuffer()) };
  };
  const page = await ask(url);
  const named = page.body.toString().matchAll(/<(?:script|link rel)[^>]*(?:href|src)="([^"]+)"/g);
  const files = [...named].map(([, file = ""]) => file);
  return [page, ...(await Promise.all(files.map(ask)))];
}

/** How many bytes come over the wire; `fetch` would decode them first. */
function wireBytes(url: string, encoding: string): Promise<{ bytes: number; encoding: string | undefined }> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { "accept-encoding": encoding } }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      response.on("end", () => resolve({ bytes, encoding: response.headers["content-encoding"] }));
    }).on("error", reject);
  });
}

test("a first load is a page, a script, a font and an icon of at most 98 KB; all but the page are cached for ever", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const [page, ...files] = await firstLoad(url);
  expect(files).toHaveLength(3);
  for (const { file, response } of files) {
    expect({ file, status: response.status }).toEqual({ file, status: 200 });
    expect(file).toMatch(/-[A-Z0-9]{8}\.(?:js|css|svg|woff2)$/);
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(response.headers.get("content-type")).toMatch(/^(text\/javascript|image\/svg\+xml|font\/woff2)/);
  }
  expect(page?.response.headers.get("cache-control")).toBe("no-cache");
  for (const encoding of ["br", "gzip"]) {
    const sizes = await Promise.all(
      [url, ...files.map(({ file }) => file)].map((file) =>
        wireBytes(new URL(file, url).href, `${encoding}, x`),
      ),
    );
    expect(sizes.filter((size) => size.encoding === encoding)).toHaveLength(3);
    expect(sizes.reduce((total, { bytes }) => total + bytes, 0)).toBeLessThan(
      encoding === "br" ? 98_000 : 106_000,
    );
  }
});

test("a file is the same in every encoding, whichever was requested first", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const [, ...files] = await firstLoad(url);
  for (const encoding of ["br", "gzip", "identity"]) {
    for (const { file, body } of files) {
      const response = await fetch(new URL(file, url), { headers: { "accept-encoding": encoding } });
      const isSame = body.equals(Buffer.from(await response.arrayBuffer()));
      expect([file, encoding, isSame]).toEqual([file, encoding, true]);
    }
  }
});

test("a second load only requests the page, and gets 304", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const { headers } = await fetch(url, { headers: { "accept-encoding": "identity" } });
  const tag = headers.get("etag") ?? "";
  expect(await rawStatus(Number(new URL(url).port), "/dashboard", { "if-none-match": tag })).toBe(304);
});

test("the only inline script is the one before the first paint, and the only inline styles are its own", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await (await fetch(url)).text();
  const inline = [...page.matchAll(/<script(?![^>]*\ssrc=)([^>]*)>/g)].map(([, attributes]) => attributes);
  expect(inline).toEqual([""]);
  expect(page.match(/<style/g)).toHaveLength(1);
  expect(page.replace(/<style>.*<\/style>/s, "")).not.toMatch(/\son\w+=|\sstyle=|https?:/);
});

test("every address below /dashboard is a page, and / leads there", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await (await fetch(url)).text();
  expect(await (await fetch(`${url}/deliveries/dlv_1`)).text()).toBe(page);
  const root = await fetch(new URL("/", url), { redirect: "manual" });
  expect([root.status, root.headers.get("location")]).toEqual([302, "/dashboard"]);
});

test("no file outside of the public files is served", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const { port } = new URL(url);
  for (const path of [
    "/dashboard/assets/",
    "/dashboard/assets/nothing.js",
    "/dashboard/assets/../router.ts",
    "/dashboard/assets/..%2frouter.ts",
    "/dashboard/assets/%2e%2e/router.ts",
  ]) {
    expect({ path, status: await rawStatus(Number(port), path) }).toEqual({ path, status: 404 });
  }
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
