import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { freePort } from "../helpers/free-port.ts";
import { filesOf, ROOT } from "./files.ts";

/** What we run of others: under which licences, pinned to what, and with which of their scripts. */

const packagesSchema = z
  .looseObject({
    packages: z.record(
      z.string(),
      z.looseObject({
        license: z.string().optional(),
        link: z.boolean().optional(),
        dev: z.boolean().optional(),
        devOptional: z.boolean().optional(),
        peer: z.boolean().optional(),
        hasInstallScript: z.boolean().optional(),
      }),
    ),
  })
  .transform(({ packages }) => packages);
const manifestSchema = z.looseObject({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
  allowScripts: z.record(z.string(), z.boolean()),
});

const packages = packagesSchema.parse(JSON.parse(readFileSync(`${ROOT}package-lock.json`, "utf8")));
const manifest = manifestSchema.parse(JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")));

/** Everything that is installed with the published package. */
const atRunTime = Object.entries(packages).filter(
  ([folder, { link, dev, devOptional, peer }]) =>
    folder.includes("node_modules/") && !(link ?? dev ?? devOptional ?? peer ?? false),
);

const LICENSES = new Set(["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD"]);
/** A typeface, which is no program. */
const OTHERWISE = new Map([["node_modules/@fontsource-variable/inter", "OFL-1.1"]]);

test("what is installed with us has a licence that lets everybody use it", () => {
  expect(atRunTime.length).toBeGreaterThan(50);
  const others = atRunTime.filter(
    ([folder, { license = "none" }]) => !LICENSES.has(license) && OTHERWISE.get(folder) !== license,
  );
  expect(others.map(([folder, { license }]) => `${folder}: ${String(license)}`)).toEqual([]);
});

test("what is installed with us runs no script when it is installed", () => {
  const scripted = atRunTime.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  // esbuild comes with tsx, which runs handlers. Its script only looks whether its binary came along: ours is refused.
  expect(scripted.map(([folder]) => folder)).toEqual(["node_modules/esbuild"]);
  expect(manifest.allowScripts).toMatchObject({ esbuild: false });
});

test("what we ask for has one exact version", () => {
  const asked = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(
    asked.filter(([, version]) => !/^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)),
  ).toEqual([]);
});

test("actions of others are pinned to a commit, wherever one is used", () => {
  const used = [...filesOf(/^(?:\.github\/.*|action)\.ya?ml$/)].flatMap(([path, text]) =>
    [...text.matchAll(/^\s*(?:-\s+)?uses:\s*(\S+)/gm)].map(([, name = ""]) => ({ path, name })),
  );
  expect(used.length).toBeGreaterThan(3);
  const loose = used.filter(({ name }) => !/^\.\/|@[0-9a-f]{40}$/.test(name));
  expect(loose).toEqual([]);
});

test("the action runs its own checkout, as its lockfile pins it", async () => {
  const [, script = ""] = /\n {6}run: \|\n([^]*)$/.exec(readFileSync(`${ROOT}action.yml`, "utf8")) ?? [];
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), "action-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  // The checkout is installed here already: what counts is how it would be.
  writeFileSync(join(directory, "npm"), `#!/bin/sh\necho "$@" > "${directory}/asked"\n`);
  chmodSync(join(directory, "npm"), 0o755);
  const { status } = spawnSync("bash", ["-e", "-c", script.replaceAll(/^ {8}/gm, "")], {
    cwd: directory,
    timeout: 120_000,
    env: {
      PATH: `${directory}:${process.env["PATH"] ?? ""}`,
      GITHUB_ACTION_PATH: ROOT.replace(/\/$/, ""),
      GITHUB_OUTPUT: join(directory, "output"),
      RECEIVER_URL: `http://127.0.0.1:${String(port)}/`,
      RECEIVER_SECRET: "whsec_for_nobody_at_all",
      LEVEL: "must",
      REPORTS: "report",
      ...Object.fromEntries(
        ["RECEIVER_COMMAND", "OBSERVE", "FAIL_ON_UNVERIFIED", "BASELINE", "ARGUMENTS", "PACKAGE"].map(
          (name) => [name, ""],
        ),
      ),
    },
  });
  // Nobody listens there: nothing could be verified, and that is said.
  expect(status).toBe(3);
  expect(readFileSync(join(directory, "output"), "utf8")).toBe("verdict=could_not_run\n");
  expect(readFileSync(join(directory, "asked"), "utf8")).toMatch(
    /^ci --prefix \/.* --omit=dev --ignore-scripts/,
  );
});
