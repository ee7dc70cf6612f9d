import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import { MAIN } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test.skipIf(!existsSync("/dev/full"))("an unusable output or .env is reported in one line", () => {
  const cwd = temporaryDirectory();
  const program = [process.execPath, ...RUN_TYPESCRIPT, MAIN];
  const env = { ...process.env, SIGNING_SECRET: "whsec_0123456789", RECEIVER_ROLE: "ingest" };
  const options = { cwd, env, encoding: "utf8" } as const;
  const said = (script: string) => {
    const { status, stderr } = spawnSync("sh", ["-c", script, "sh", ...program], options);
    return [status, stderr];
  };
  // Whoever reads the output has seen enough.
  expect(said('{ "$@" doctor; echo $? >&2; } | true')).toEqual([0, "0\n"]);
  expect(said('"$@" doctor > /dev/full')).toEqual([
    3,
    expect.stringMatching(/^voice-agent-receiver: cannot write the output: .*\n$/),
  ]);
  mkdirSync(join(cwd, ".env"));
  expect(said('"$@" health')).toEqual([
    2,
    expect.stringMatching(/^voice-agent-receiver: \.env is not a file .*\n$/),
  ]);
});
