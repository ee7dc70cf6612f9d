import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { nodeIsTooOld } from "../../shared/node-version.ts";
import { RUN_TYPESCRIPT } from "../helpers/typescript.ts";
import { MAIN } from "../receiver/helpers/process.ts";

test.each(["22.19.0", "22.20.1", "23.0.0", "24.1.0", "100.0.0"])("Node.js %s is new enough", (version) => {
  expect(nodeIsTooOld(version)).toBeUndefined();
});

test.each(["22.18.9", "22.9.0", "21.99.0", "20.20.2", "4.0.0", "", "next"])(
  "Node.js %s is too old, in one line that says what to install",
  (version) => {
    const message = nodeIsTooOld(version) ?? "";
    expect(message).toContain(`Node.js ${version} is too old: this needs 22.19 or newer. Install Node.js 24`);
    expect(message).not.toContain("\\n");
  },
);

const NO_BUN = "Bun 1.4.5 is not supported: run this with Node.js 22.19 or newer, or";
test.each([
  [{ node: "22.19.0" }, 0, "went on\n", ""],
  [{ node: "20.20.2" }, 78, "", "Node.js 20.20.2 is too old: "],
  [{ node: "26.3.0", bun: "1.4.5" }, 78, "", NO_BUN],
])(
  "a program on %o exits with %i, and runs only if the version is new enough",
  (runtime, code, stdout, said) => {
    const versions = `Object.defineProperty(process, "versions", { value: { ...process.versions, ...${JSON.stringify(runtime)} } });`;
    const guard = new URL("../../shared/node-version.ts", import.meta.url).href;
    const program = `${versions} (await import("${guard}")).endOnOldNode(); console.log("went on");`;
    const words = [...RUN_TYPESCRIPT, "--input-type=module", "-e", program];
    const ended = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect({ code: ended.status, stdout: ended.stdout }).toEqual({ code, stdout });
    expect(ended.stderr.startsWith(said)).toBe(true);
    expect(ended.stderr.split("\n").filter((line) => line !== "")).toHaveLength(said === "" ? 0 : 1);
  },
);

test("on a Node.js that cannot read TypeScript the receiver says in one line what to do", () => {
  const ended = spawnSync(process.execPath, ["--no-experimental-strip-types", MAIN], { encoding: "utf8" });
  expect(ended.stderr).toMatch(/^Node\.js \S+ cannot run TypeScript\. .*npm start\.\n$/);
  expect(ended.status).toBe(78);
});
