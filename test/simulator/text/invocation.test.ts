import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ourCommand, ourProgram, type Started } from "../../../simulator/text/invocation.ts";

const started = (changes: Partial<Started>): Started => ({
  script: "/usr/local/bin/voice-agent-simulator",
  directory: "/home-of/me",
  environment: {},
  ...changes,
});

describe("a hint begins with the command that starts us from the user's folder", () => {
  test.each([
    ["installed globally", started({}), "voice-agent-simulator"],
    [
      "run by itself",
      started({ script: "/usr/lib/node_modules/voice-agent-webhook-kit/dist/simulator/main.js" }),
      "voice-agent-simulator",
    ],
    [
      "installed in the project",
      started({ script: "/home-of/me/node_modules/.bin/voice-agent-simulator" }),
      "npx voice-agent-simulator",
    ],
    [
      "installed in a project around",
      started({ script: "/home-of/node_modules/.bin/voice-agent-simulator" }),
      "npx voice-agent-simulator",
    ],
    [
      "in a project of a similar name",
      started({ script: "/home-of/m/node_modules/.bin/voice-agent-simulator" }),
      "voice-agent-simulator",
    ],
    [
      "inside somebody's test runner",
      started({ script: "/home-of/me/node_modules/vitest/vitest.mjs" }),
      "voice-agent-simulator",
    ],
    ["in a checkout", started({ script: "/home-of/me/simulator/main.ts" }), "npm run simulator --"],
    [
      "in a checkout, by npm start",
      started({ script: "/home-of/me/tools/start.ts" }),
      "npm run simulator --",
    ],
    [
      "in a folder of a checkout",
      started({ script: "/home-of/me/simulator/main.ts", directory: "/home-of/me/docs" }),
      "npm run simulator --",
    ],
    [
      "beside a checkout",
      started({ script: "/home-of/the kit/simulator/main.ts" }),
      "npm --prefix '../the kit' run simulator --",
    ],
    ["as built", started({ script: "/home-of/me/dist/simulator/main.js" }), "node dist/simulator/main.js"],
  ])("%s", (_, how, words) => {
    expect(ourProgram(how)).toBe(words);
  });

  test("by npx, with the package that npx was given", () => {
    const cache = mkdtempSync(join(tmpdir(), "cache-"));
    onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
    const folder = join(cache, "_npx/54622e4d");
    mkdirSync(folder, { recursive: true });
    const how = started({ script: join(folder, "node_modules/.bin/voice-agent-simulator") });
    expect(ourProgram(how)).toBe("npx voice-agent-webhook-kit");
    const given = (spec: string) => {
      writeFileSync(join(folder, "package.json"), JSON.stringify({ _npx: { packages: [spec] } }));
      return ourProgram(how);
    };
    expect(given("./my kit.tgz")).toBe("npx './my kit.tgz'");
    expect(given("file:../kit.tgz")).toBe("npx file:../kit.tgz");
    // By its whole path it would be taken for a program.
    expect(given("/there/kit.tgz")).toBe("npx file:/there/kit.tgz");
    expect(given("C:\\there\\kit.tgz")).toBe("npx 'file:C:\\there\\kit.tgz'");
  });
});

describe("a hint refers to the simulator that was used", () => {
  test("with its URL, unless that is the default", () => {
    const there = { simulator: "http://127.0.0.1:4011" };
    expect(ourCommand(["deliveries"], there, started({}))).toBe(
      "voice-agent-simulator deliveries --simulator http://127.0.0.1:4011",
    );
    expect(ourCommand(["deliveries"], { simulator: "http://127.0.0.1:4010" }, started({}))).toBe(
      "voice-agent-simulator deliveries",
    );
  });

  test("with its token, unless the shell has it", () => {
    const target = { simulator: "http://127.0.0.1:4010", token: "t o" };
    expect(ourCommand("clock run", target, started({}))).toBe(
      "voice-agent-simulator clock run --token 't o'",
    );
    const environment = { VOICE_AGENT_SIMULATOR_TOKEN: "t o" };
    expect(ourCommand("clock run", target, started({ environment }))).toBe("voice-agent-simulator clock run");
  });
});

test("a hint is quoted for the shell", () => {
  expect(ourCommand(["trigger", `it's "$x" 100%`], undefined, started({}))).toBe(
    `voice-agent-simulator trigger 'it'\\''s "$x" 100%'`,
  );
});
