import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../helpers/free-port.ts";
import { ROOT } from "./files.ts";

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
