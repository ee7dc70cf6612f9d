import { describe, expect, test } from "vitest";
import { findProgram, type Machine } from "../../../simulator/processes/program.ts";

const NODE = "C:\\Program Files\\nodejs\\node.exe";

/** The batch file that Node.js for Windows brings along. */
const NPM_CMD = String.raw`
SETLOCAL
SET "NODE_EXE=%~dp0\node.exe"
SET "NPM_PREFIX_JS=%~dp0\node_modules\npm\bin\npm-prefix.js"
SET "NPM_CLI_JS=%~dp0\node_modules\npm\bin\npm-cli.js"
FOR /F "delims=" %%F IN ('CALL "%NODE_EXE%" "%NPM_PREFIX_JS%"') DO (
  SET "NPM_PREFIX_NPM_CLI_JS=%%F\node_modules\npm\bin\npm-cli.js"
)
"%NODE_EXE%" "%NPM_CLI_JS%" %*
`;

/** What npm writes for a package's command. */
const SHIM_CMD = String.raw`
endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\..\tsx\dist\cli.mjs" %*
`;

function windows(files: Record<string, string>, env: NodeJS.ProcessEnv = {}): Machine {
  const find = (path: string) => Object.keys(files).find((file) => file.toLowerCase() === path.toLowerCase());
  return {
    platform: "win32",
    nodePath: NODE,
    env: {
      Path: "C:\\Windows;C:\\Program Files\\nodejs;C:\\app\\node_modules\\.bin",
      PATHEXT: ".COM;.EXE;.BAT;.CMD",
      ...env,
    },
    isFile: (path) => find(path) !== undefined,
    read: (path) => files[find(path) ?? ""],
  };
}

const FILES = {
  [NODE]: "",
  "C:\\Program Files\\nodejs\\npm": "#!/bin/sh",
  "C:\\Program Files\\nodejs\\npm.cmd": NPM_CMD,
  "C:\\app\\node_modules\\.bin\\tsx.cmd": SHIM_CMD,
  "C:\\app\\start.bat": "@echo off\r\npython server.py %*\r\n",
  "server.py": "",
};

describe("on Windows", () => {
  test.each([
    ["node server.js", { file: NODE, args: ["server.js"] }],
    ["NODE.EXE server.js", { file: NODE.replace("node.exe", "NODE.EXE"), args: ["server.js"] }],
    [
      "npm run dev",
      { file: NODE, args: ["C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npm-cli.js", "run", "dev"] },
    ],
    [
      "npm.cmd start",
      { file: NODE, args: ["C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npm-cli.js", "start"] },
    ],
    [
      "tsx server.ts & calc",
      {
        file: NODE,
        args: ["C:\\app\\node_modules\\tsx\\dist\\cli.mjs", "server.ts", "&", "calc"],
      },
    ],
    ["nowhere --port 1", { file: "nowhere", args: ["--port", "1"] }],
  ])("%s", (line, program) => {
    expect(findProgram(line.split(" "), windows(FILES))).toEqual({ ok: true, ...program });
  });

  test.each([["C:\\app\\start.bat"], ["C:\\app\\start"]])(
    "%s is not started, since that takes a shell",
    (file) => {
      expect(findProgram([file], windows(FILES))).toMatchObject({
        ok: false,
        message: expect.stringContaining(`C:\\app\\start.bat cannot be started without a shell`),
      });
    },
  );

  test("a script without its interpreter is told how to be started", () => {
    expect(findProgram(["server.py"], windows(FILES))).toMatchObject({
      ok: false,
      message: expect.stringContaining("name its interpreter first"),
    });
  });

  test("a folder of PATH that comes first wins, before the extensions of PATHEXT in their order", () => {
    const files = { ...FILES, "C:\\Windows\\npm.exe": "" };
    expect(findProgram(["npm"], windows(files))).toEqual({
      ok: true,
      file: "C:\\Windows\\npm.exe",
      args: [],
    });
    const both = { ...FILES, "C:\\Program Files\\nodejs\\npm.exe": "" };
    expect(findProgram(["npm"], windows(both))).toEqual({
      ok: true,
      file: "C:\\Program Files\\nodejs\\npm.exe",
      args: [],
    });
  });
});

test("elsewhere the first word is the program, whatever stands in the files", () => {
  const machine = { ...windows(FILES), platform: "linux" as const };
  expect(findProgram(["npm", "start"], machine)).toEqual({ ok: true, file: "npm", args: ["start"] });
});
