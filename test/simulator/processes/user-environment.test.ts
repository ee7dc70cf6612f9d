import { spawnSync } from "node:child_process";
import { chmodSync, realpathSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { userEnvironment } from "../../../simulator/processes/user-environment.ts";
import { freePort } from "../../helpers/free-port.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { ROOT } from "../../repository/files.ts";

const KIT = "/src/kit/simulator/processes/user-environment.ts";
const NPX =
  "/me/.npm/_npx/1a2b/node_modules/voice-agent-webhook-kit/dist/simulator/processes/user-environment.js";
const INSTALLED = "/me/app/node_modules/voice-agent-webhook-kit/dist/simulator/processes/user-environment.js";
const GYP = "/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin";
const path = (...folders: string[]): string => folders.join(delimiter);

const BY_NPM = {
  npm_execpath: "/usr/lib/npm-cli.js",
  npm_config_prefix: "../kit",
  npm_config_local_prefix: "/src/kit",
  npm_package_version: "0.1.0",
  INIT_CWD: "/me/app",
  NODE: "/src/kit/node",
};

describe("a user's program gets the user's environment", () => {
  test("from a checkout: neither the kit's programs nor what npm set for it", () => {
    const environment = {
      ...BY_NPM,
      npm_package_json: "/src/kit/package.json",
      npm_lifecycle_event: "simulator",
      PATH: path(
        "/src/kit/node_modules/.bin",
        GYP,
        "/me/app/node_modules/.bin",
        "/src/kit-of-others",
        "/usr/bin",
      ),
      NODE_OPTIONS: "--max-old-space-size=512",
      DATABASE_URL: "postgres://here",
    };
    expect(userEnvironment({ environment, file: KIT })).toEqual({
      PATH: path("/me/app/node_modules/.bin", "/src/kit-of-others", "/usr/bin"),
      NODE_OPTIONS: "--max-old-space-size=512",
      DATABASE_URL: "postgres://here",
    });
  });

  test("from npx: the project's own programs stay, those that npx brought go", () => {
    const environment = {
      ...BY_NPM,
      npm_package_json: "/me/app/package.json",
      npm_lifecycle_event: "npx",
      Path: path("/me/.npm/_npx/1a2b/node_modules/.bin", "/me/app/node_modules/.bin", GYP, "/usr/bin"),
    };
    expect(userEnvironment({ environment, file: NPX })).toEqual({
      Path: path("/me/app/node_modules/.bin", "/usr/bin"),
    });
  });

  test("from a script of the user's project: with everything that npm set for it", () => {
    const environment = {
      ...BY_NPM,
      npm_package_json: "/me/app/package.json",
      npm_lifecycle_event: "verify",
      PATH: path("/me/app/node_modules/.bin", GYP, "/usr/bin"),
    };
    expect(userEnvironment({ environment, file: INSTALLED })).toEqual(environment);
  });

  test("from a user's script that calls a checkout: that project's variables stay, the checkout's programs go", () => {
    const environment = {
      ...BY_NPM,
      npm_package_json: "/me/app/package.json",
      npm_lifecycle_event: "verify",
      PATH: path("/src/kit/node_modules/.bin", "/me/app/node_modules/.bin"),
    };
    expect(userEnvironment({ environment, file: KIT })).toEqual({
      ...environment,
      PATH: "/me/app/node_modules/.bin",
    });
  });
});

const RECEIVER = `
  const { PORT, INIT_CWD, PATH } = process.env;
  const ofNpm = Object.keys(process.env).filter((name) => name.startsWith("npm_"));
  console.log(JSON.stringify({ cwd: process.cwd(), ofNpm, INIT_CWD, runBy: process.env.RUN_BY, kit: PATH.includes(process.argv[1]) }));
  require("node:http").createServer((request, response) => request.resume().on("end", () => response.end())).listen(PORT);
`;

test("npm run simulator -- dev -- node: the first node of the user's PATH, in the folder where the user is", async () => {
  const folder = realpathSync(temporaryDirectory());
  writeFileSync(join(folder, "node"), `#!/bin/sh\nRUN_BY=theirs exec ${process.execPath} "$@"\n`);
  chmodSync(join(folder, "node"), 0o755);
  writeFileSync(
    join(folder, "server.cjs"),
    RECEIVER.replace("process.argv[1]", JSON.stringify(join(ROOT, "node_modules"))),
  );
  const url = `http://127.0.0.1:${await freePort()}/webhooks`;
  const dev = `run --silent simulator -- dev --once --calls 0 --port 0 --url ${url} -- node server.cjs`;
  const { stdout, stderr } = spawnSync("npm", ["--prefix", ROOT, ...dev.split(" ")], {
    cwd: folder,
    encoding: "utf8",
    env: { ...userEnvironment(), PATH: path(folder, process.env["PATH"] ?? "") },
  });
  const [, said = "{}"] = /receiver \| (\{.*\})/.exec(stderr) ?? [];
  expect(JSON.parse(said)).toEqual({ cwd: folder, ofNpm: [], runBy: "theirs", kit: false });
  expect(stdout).toContain("All 5 event types acknowledged");
});
