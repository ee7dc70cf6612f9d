import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { importsOf } from "../../tools/fork/imports.ts";
import { filesOf, ROOT } from "./files.ts";

const manifest = z
  .looseObject({
    dependencies: z.record(z.string(), z.string()),
    optionalDependencies: z.record(z.string(), z.string()).default({}),
    peerDependencies: z.record(z.string(), z.string()).default({}),
  })
  .parse(JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")));

const INSTALLED = new Set([
  ...Object.keys(manifest.dependencies),
  ...Object.keys(manifest.optionalDependencies),
  ...Object.keys(manifest.peerDependencies),
]);

/** What makes the dashboard's bundle, and what goes into it: none of it is installed with the package. */
const BUNDLED = new Set(["diff", "esbuild", "preact"]);

/** Which parts of the project a part may import beside itself, and which of Node.js where that is limited. */
const ALLOWED: { part: RegExp; parts: RegExp; modules?: RegExp }[] = [
  { part: /^shared\/(?!listener\/)/, parts: /^shared\//, modules: /^(?:zod|node:crypto)$/ },
  // Both programs listen with it.
  { part: /^shared\/listener\//, parts: /^shared\/listener\//, modules: /^node:(?:http|net|timers)$/ },
  { part: /^receiver\//, parts: /^(?:receiver|shared)\// },
  {
    part: /^simulator\/domain\//,
    parts: /^(?:simulator\/domain|shared)\//,
    // No I/O: it hashes, it emits, it compares, and its database is handed in.
    modules:
      /^(?:zod|node:crypto|node:events|node:net|node:timers|node:util|better-sqlite3|ipaddr\.js|@faker-js\/faker(?:\/.*)?)$/,
  },
  { part: /^simulator\//, parts: /^(?:simulator|shared)\// },
];

function violations(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([path, source]) => {
    const rules = ALLOWED.filter(({ part }) => part.test(path));
    return importsOf(source).flatMap((specifier) => {
      const isRelative = specifier.startsWith(".");
      const target = isRelative ? posix.join(posix.dirname(path), specifier) : specifier;
      const broken = rules.some(({ parts, modules }) =>
        isRelative ? !parts.test(target) : modules !== undefined && !modules.test(target),
      );
      const name = specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
      const isOwn = isRelative || specifier.startsWith("node:") || name === "voice-agent-webhook-kit";
      const isBundled = path.startsWith("simulator/dashboard/") && BUNDLED.has(name);
      const isMissing = !isOwn && !isBundled && !INSTALLED.has(name);
      return broken || isMissing ? [`${path} imports ${specifier}`] : [];
    });
  });
}

describe("the borders between the parts", () => {
  test("hold: each imports what it may and what is installed with it", () => {
    expect(violations(filesOf(/^(?:shared|receiver|simulator)\/.*\.ts$/))).toEqual([]);
  });

  test.each([
    ["shared/x.ts", 'import { readFileSync } from "node:fs";'],
    ["shared/x.ts", 'import express from "express";'],
    ["shared/listener/x.ts", 'import { verify } from "../signature.ts";'],
    ["shared/listener/x.ts", 'import { readFileSync } from "node:fs";'],
    ["shared/x.ts", 'import { listen } from "../simulator/server.ts";'],
    ["receiver/x.ts", 'import type { Simulator } from "../simulator/verbs/simulator.ts";'],
    ["receiver/handlers/x.ts", 'export * from "../../test/helpers/endpoint.ts";'],
    ["receiver/x.ts", 'const load = () => import("../bench/main.ts");'],
    ["receiver/x.ts", 'import { test } from "vitest";'],
    ["simulator/x.ts", 'import { start } from "../receiver/receiver.ts";'],
    ["simulator/commands/x.ts", 'import {\n  one,\n  two,\n} from "../../tools/build.ts";'],
    ["simulator/domain/x.ts", 'import { request } from "node:http";'],
    ["simulator/domain/x.ts", 'import { createSender } from "../sender/sender.ts";'],
    ["simulator/domain/x.ts", 'import { readFileSync } from "node:fs";'],
  ])("would not let through, in %s: %s", (path, source) => {
    expect(violations(new Map([[path, source]]))).toHaveLength(1);
  });

  test("keep the sockets of deliveries in one place", () => {
    const opens = /\b(?:httpRequest|connectTcp|connectTls|fetch|createConnection)\(/;
    const files = filesOf(/^simulator\/(?:domain|control|api|dashboard(?!\/app)|openapi|sender)\/.*\.ts$/);
    const opening = [...files].filter(([, source]) => opens.test(source)).map(([path]) => path);
    expect(opening.every((path) => path.startsWith("simulator/sender/"))).toBe(true);
    expect(opening.length).toBeGreaterThan(0);
  });
});

describe("time, randomness and environment", () => {
  /** The places that hand them to everybody else. */
  const SOURCES =
    /^(?:shared\/node-version|simulator\/domain\/wall-time|simulator\/main|simulator\/text\/invocation|simulator\/(?:processes|observer|commands|verify|load)\/.*|receiver\/(?:main|clock|library\/create-receiver|engines\/open-configured|work\/child|work\/worker|work\/handlers-module|operations\/doctor|operations\/commands\/.*))\.ts$/;

  test("come in from outside", () => {
    const direct = /\bDate\.now\(\)|\bMath\.random\(\)|\bprocess\.env\b/;
    // What runs in a browser has nothing else to take them from.
    const files = filesOf(/^(?:shared|receiver|simulator(?!\/dashboard\/app))\/.*\.ts$/);
    const guilty = [...files].filter(([path, source]) => !SOURCES.test(path) && direct.test(codeOf(source)));
    expect(guilty.map(([path]) => path)).toEqual([]);
  });
});

/** Without comments and strings. */
function codeOf(source: string): string {
  return source
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .replaceAll(/\/\/.*/g, "")
    .replaceAll(/"[^"\n]*"/g, '""');
}
