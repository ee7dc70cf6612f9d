import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { candidateFolders } from "../../tools/fork/lockfile.ts";
import { filesOf, ROOT } from "./files.ts";

const REGISTRY = "https://registry.npmjs.org/";

const packageSchema = z.looseObject({
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  license: z.string().optional(),
  link: z.boolean().optional(),
  dev: z.boolean().optional(),
  devOptional: z.boolean().optional(),
  peer: z.boolean().optional(),
  hasInstallScript: z.boolean().optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
});
const lockfileSchema = z.looseObject({ packages: z.record(z.string(), packageSchema) });
const manifestSchema = z.looseObject({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

const lockfiles = [...filesOf(/(?:^|\/)package-lock\.json$/)].map(
  ([path, text]) => [path, lockfileSchema.parse(JSON.parse(text)).packages] as const,
);

describe.each(lockfiles)("%s", (path, packages) => {
  test("has an entry for each optional dependency: it installs on every platform", () => {
    const holes = Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !candidateFolders(folder, name).some((candidate) => packages[candidate] !== undefined),
      ),
    );
    expect(holes).toEqual([]);
  });

  test("pins every package to the public registry and to its content", () => {
    const loose = Object.entries(packages).filter(
      ([folder, { link, resolved, integrity }]) =>
        folder.includes("node_modules/") &&
        link !== true &&
        !((resolved ?? REGISTRY).startsWith(REGISTRY) && integrity?.startsWith("sha512-")),
    );
    expect(loose.map(([folder]) => folder)).toEqual([]);
  });

  test("belongs to a manifest that asks for exact versions", () => {
    const manifest = readFileSync(ROOT + path.replace("package-lock.json", "package.json"), "utf8");
    const { dependencies, devDependencies } = manifestSchema.parse(JSON.parse(manifest));
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$|^file:/.test(version),
    );
    expect(loose).toEqual([]);
  });
});

describe("what is installed with the package", () => {
  const LICENSES = new Set(["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD"]);
  const [, packages = {}] = lockfiles.find(([path]) => path === "package-lock.json") ?? [];
  const installed = Object.entries(packages).filter(
    ([folder, { link, dev, devOptional, peer }]) =>
      folder.includes("node_modules/") && !(link ?? dev ?? devOptional ?? peer ?? false),
  );

  test("has a licence that lets everyone use it", () => {
    expect(installed.length).toBeGreaterThan(20);
    const others = installed.filter(([, { license = "none" }]) => !LICENSES.has(license));
    expect(others.map(([folder, { license }]) => `${folder}: ${license ?? "none"}`)).toEqual([]);
  });

  test("runs no script when it is installed, but that of esbuild, which our .npmrc refuses too", () => {
    const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(scripted.map(([folder]) => folder)).toEqual(["node_modules/esbuild"]);
  });
});

test("third-party actions are always pinned to a commit", () => {
  const used = [...filesOf(/^(?:\.github\/.*|action)\.ya?ml$/).values()].flatMap((text) =>
    [...text.matchAll(/^\s*(?:-\s+)?uses:\s*(\S+)/gm)].map(([, name = ""]) => name),
  );
  expect(used.length).toBeGreaterThan(3);
  expect(used.filter((name) => !/^\.\/|@[0-9a-f]{40}$/.test(name))).toEqual([]);
});

test("no file names a place on the machine of its author", () => {
  const place = /(?:^|[\s"'`(=])\/(?:work|home|Users|root)\/[a-z]/m;
  const text = filesOf(/\.(?:ts|js|mjs|json|md|sh|yaml|yml|html|css)$|^\.[a-z]+rc|Dockerfile/);
  const naming = [...text].filter(
    ([path, source]) => !path.startsWith("test/repository/") && place.test(source),
  );
  expect(naming.map(([path]) => path)).toEqual([]);
});
