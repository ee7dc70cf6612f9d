import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import express from "express";
import { describe, expect, test } from "vitest";
import { ERROR_STATUS } from "../../../simulator/domain/refused.ts";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { createOpenApi } from "../../../simulator/openapi/router.ts";
import { createOpenApiDocument } from "../../../tools/openapi/document.ts";
import { listen } from "../../helpers/listen.ts";
import { startApi } from "../api/test-api.ts";

const file = fileURLToPath(new URL("../../../simulator/openapi/openapi.json", import.meta.url));
const document = JSON.parse(readFileSync(file, "utf8")) as {
  openapi: string;
  paths: Record<string, { get: { operationId: string; responses: Record<string, unknown> } }>;
  webhooks: Record<string, { post: { operationId: string; requestBody: unknown } }>;
  components: { schemas: Record<string, unknown> };
};

async function startOpenApi() {
  const { url } = await listen(createServer(express().use(createOpenApi())));
  return url;
}

describe("openapi.json", () => {
  test("matches the schemas (node tools/openapi.ts writes it anew)", () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(createOpenApiDocument())));
  });

  test("passes the linter without a warning", () => {
    const linter = fileURLToPath(new URL("../../../node_modules/@redocly/cli/bin/cli.js", import.meta.url));
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    const run = spawnSync(process.execPath, [linter, "lint", "--format=json", file], {
      encoding: "utf8",
      env,
    });
    expect(JSON.parse(run.stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
  });

  test("describes every endpoint and every event type, each operation with a unique name", () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(Object.keys(document.paths)).toEqual([
      "/api/v1/me",
      "/api/v1/agents",
      "/api/v1/calls",
      "/api/v1/voicemails",
    ]);
    expect(Object.keys(document.webhooks)).toEqual(EVENT_TYPES);
    const ids = [
      ...Object.values(document.paths).map(({ get }) => get.operationId),
      ...Object.values(document.webhooks).map(({ post }) => post.operationId),
    ];
    expect(new Set(ids).size).toBe(9);
    expect(ids.every((id) => /^[a-z][A-Za-z]+$/.test(id))).toBe(true);
  });

  test("has a response for every status of the API", async () => {
    const { get } = await startApi({ calls: 4 });
    const answers = [
      await get("/api/v1/calls"),
      await get("/api/v1/calls?starting_after=x"),
      await get("/api/v1/calls?limit=0"),
      await get("/api/v1/calls", { key: null }),
    ];
    const documented = Object.keys(document.paths["/api/v1/calls"]?.get.responses ?? {});
    for (const { status } of answers) expect(documented).toContain(String(status));
    for (const path of Object.values(document.paths)) {
      for (const status of Object.keys(path.get.responses).filter((code) => code !== "200")) {
        expect(Object.values(ERROR_STATUS).map(String)).toContain(status);
      }
    }
  });

  test("is served with this simulator as its server", async () => {
    const url = await startOpenApi();
    const response = await fetch(`${url}/openapi.json`);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    expect(await response.json()).toEqual({ ...document, servers: [{ url, description: "This simulator" }] });
  });
});

test("/docs leads to the page of the dashboard", async () => {
  const response = await fetch(`${await startOpenApi()}/docs`, { redirect: "manual" });
  expect([response.status, response.headers.get("location")]).toEqual([302, "/dashboard/docs"]);
});
