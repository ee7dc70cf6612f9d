import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { candidateFolders } from "../../tools/fork/lockfile.ts";
import { importsOf } from "../../tools/fork/imports.ts";
import { LONGEST } from "../helpers/run/longest-first.ts";
import { filesOf, ROOT } from "./files.ts";

const MOST_LINES = 250;

const lockfileSchema = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
type Lockfile = z.infer<typeof lockfileSchema>;

/**
 * Optional dependencies that a locked package declares and the lockfile has no entry for. A machine on which one of them is
 * wanted refuses to install, though ours, which does not want it, installs.
 */
function holes({ packages }: Lockfile): string[] {
  return Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter(
        (name) => !candidateFolders(folder, name).some((candidate) => packages[candidate] !== undefined),
      )
      .map((name) => `${name}, wanted by ${folder === "" ? "the project" : folder}`),
  );
}

describe("the lockfile", () => {
  const lockfile = lockfileSchema.parse(JSON.parse(readFileSync(`${ROOT}package-lock.json`, "utf8")));

  test("has no holes: it installs on every platform", () => {
    expect(holes(lockfile)).toEqual([]);
  });

  test("pins every package to the public registry and to its content", () => {
    const loose = Object.entries(lockfile.packages).filter(([folder, { link, resolved, integrity }]) => {
      if (!folder.includes("node_modules/") || link === true) return false;
      return !resolved?.startsWith("https://registry.npmjs.org/") || !integrity?.startsWith("sha512-");
    });
    expect(loose.map(([folder]) => folder)).toEqual([]);
  });

  test("with a hole would be found out", () => {
    const optionalDependencies = { there: "1.0.0", missing: "1.0.0" };
    const packages = {
      "": { optionalDependencies: { top: "1.0.0" } },
      "node_modules/a": { optionalDependencies },
      "node_modules/a/node_modules/there": {},
      "node_modules/@scope/b": { optionalDependencies: { c: "1.0.0" } },
      "node_modules/c": {},
    };
    expect(holes({ packages })).toEqual(["top, wanted by the project", "missing, wanted by node_modules/a"]);
  });
});

describe("a Node.js that is too old", () => {
  /** Names that every Node.js has which anybody still uses. */
  const OLD_NAMES = new Set(["join", "tmpdir"]);

  test("is told so by simulator/main.ts, once no newer one was found: nothing is linked before", () => {
    const source = readFileSync(`${ROOT}simulator/main.ts`, "utf8");
    // Of Node.js itself, and nothing else.
    expect(source).not.toMatch(/^import [^"]*"(?!node:)/m);
    expect([...source.matchAll(/import\("(.+)"\)/g)].map(([, path]) => path).slice(0, 2)).toEqual([
      "./processes/newer-node.ts",
      "../shared/node-version.ts",
    ]);
  });

  test("is told so by receiver/main.mjs: nothing that it lacks is linked before", () => {
    const source = readFileSync(`${ROOT}receiver/main.mjs`, "utf8");
    const imports = [...source.matchAll(/^import (?:(.+) from )?"(.+)";$/gm)];
    // What is ours and loaded at once would bring what it links itself.
    expect(imports.filter(([, , from = ""]) => !from.startsWith("node:"))).toEqual([]);
    const named = imports.flatMap(([, names = ""]) => names.match(/(?<=[{,] )\w+/g) ?? []);
    expect(named.filter((name) => !OLD_NAMES.has(name))).toEqual([]);
    expect(/import\("(.+)"\)/.exec(source)?.[1]).toBe("../shared/node-version.ts");
  });
});

describe("every file", () => {
  test(`of the source has at most ${MOST_LINES} lines`, () => {
    const long = [...filesOf(/^(?:shared|receiver|simulator)\/.*\.(?:ts|js)$/)].filter(
      ([path, source]) => !path.includes("/vendor/") && source.split("\n").length - 1 > MOST_LINES,
    );
    expect(long.map(([path]) => path)).toEqual([]);
  });

  test("imports nothing from outside the project", () => {
    const outside = [...filesOf(/\.(?:ts|js|mjs)$/)].flatMap(([path, source]) =>
      importsOf(source)
        .filter((specifier) => specifier.startsWith("."))
        .filter((specifier) => posix.join(posix.dirname(path), specifier).startsWith(".."))
        .map((specifier) => `${path}: ${specifier}`),
    );
    expect(outside).toEqual([]);
  });

  test("names no place on somebody's machine", () => {
    const place = /(?:^|[\s"'`(=])\/(?:work|home|Users|root)\/[a-z]/m;
    const own = "test/repository/repository.test.ts";
    const text = filesOf(/\.(?:ts|js|mjs|json|md|sh|yaml|yml|html|css)$|^\.[a-z]+rc|Dockerfile/);
    const naming = [...text].filter(
      ([path, source]) => path !== own && path !== "package-lock.json" && place.test(source),
    );
    expect(naming.map(([path]) => path)).toEqual([]);
  });

  test("is finished: no reminders, no focused or skipped tests without a reason", () => {
    const source = [...filesOf(/^(?:shared|receiver|simulator|test|bench|tools|examples)\/.*\.ts$/)];
    const reminders = source.filter(([, text]) => /\/\/ ?(?:TODO|FIXME|XXX|HACK)\b/.test(text));
    const focused = source.filter(([, text]) => /\b(?:test|it|describe)\.(?:only|skip|todo)\(/.test(text));
    expect([...reminders, ...focused].map(([path]) => path)).toEqual([]);
  });

  test("that is run first, since it takes longest, is there", () => {
    expect(LONGEST.filter((file) => !existsSync(`${ROOT}${file}`))).toEqual([]);
  });
});
