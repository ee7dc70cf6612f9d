import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { expect, onTestFinished, test } from "vitest";
import { bannerValue } from "../../../simulator/commands/banner.ts";
import { startSimulatorForCommand } from "../../../simulator/commands/running-simulator.ts";
import {
  addServeOptions,
  simulatorOptions,
  type ServeFlags,
} from "../../../simulator/commands/serve-options.ts";
import { DEFAULT_READINGS } from "../../../simulator/domain/readings.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";

/** The effect of each option of `serve`, alone and together with the others. */

function flagsOf(...words: string[]): ServeFlags {
  const command = addServeOptions(new Command("serve"), { clock: "real" }).exitOverride();
  command.configureOutput({ writeErr: () => {} });
  command.parse(words, { from: "user" });
  return command.opts<ServeFlags>();
}

const DEFAULTS = {
  clock: "real",
  readings: DEFAULT_READINGS,
  faults: [],
  allowedHosts: [],
  concurrency: 16,
  scenarios: [],
  retention: { deliveries: 100_000 },
  dataFile: undefined,
  seed: undefined,
  calls: undefined,
};

const CHOICES: [words: string[], changes: object][] = [
  [["--clock", "skip"], { clock: "skip" }],
  [
    ["--reading", "retry_body=reserialized", "--reading", "flag_counts=deliveries"],
    { readings: { ...DEFAULT_READINGS, retry_body: "reserialized", flag_counts: "deliveries" } },
  ],
  [
    ["--fault", "duplicate", "--fault", "drop-answer:2"],
    { faults: [{ name: "duplicate" }, { name: "drop-answer", attempts: 2 }] },
  ],
  [["--allow-host", "a.test", "--allow-host", "b.test"], { allowedHosts: ["a.test", "b.test"] }],
  [["--concurrency", "3"], { concurrency: 3 }],
  [["--keep", "100"], { retention: { deliveries: 100 } }],
  [["--data", "data.db"], { dataFile: "data.db" }],
  [["--seed", "0"], { seed: 0 }],
  [["--calls", "0"], { calls: 0 }],
];

test("each option changes only what it names, and all together change everything", () => {
  expect(simulatorOptions(flagsOf())).toEqual(DEFAULTS);
  for (const [words, changes] of CHOICES)
    expect({ words, made: simulatorOptions(flagsOf(...words)) }).toEqual({
      words,
      made: { ...DEFAULTS, ...changes },
    });
  const all: object[] = CHOICES.map(([, changes]) => changes);
  expect(simulatorOptions(flagsOf(...CHOICES.flatMap(([words]) => words)))).toEqual(
    Object.assign({ ...DEFAULTS }, ...all),
  );
});

test.each([
  ["--port", "0", "65535", ["-1", "65536", "80.5"]],
  ["--seed", "0", "2147483647", ["2147483648"]],
  ["--calls", "0", "10000000", ["10000001"]],
  ["--concurrency", "1", "1000", ["0", "1001"]],
  ["--keep", "100", "10000000", ["99", "10000001"]],
  ["--traffic", "0", "60000", ["60001", "30/h"]],
  ["--traffic", "30/min", "60000/min", ["-1"]],
  [
    "--token",
    "0123456789abcdef",
    "x".repeat(256),
    ["", "0123456789abcde", "x".repeat(257), "0123456789 abcdef"],
  ],
])("%s takes %s to %s, and nothing beyond", (option, least, most, beyond) => {
  const name = option.slice("--".length) as "port";
  const number = (text: string) => (option === "--token" ? text : Number.parseInt(text, 10));
  for (const value of [least, most]) expect(flagsOf(`${option}=${value}`)[name]).toBe(number(value));
  for (const value of beyond) {
    const why = value === "" ? "it is empty (an unset variable?)" : option;
    expect(() => flagsOf(`${option}=${value}`), value).toThrow(why);
  }
});

test("the service follows its options: port, token, traffic, scenarios and faults", async () => {
  const file = join(temporaryDirectory(), "mine.json");
  writeFileSync(
    file,
    JSON.stringify({ name: "mine", summary: "Mine.", steps: [{ after_seconds: 0, type: "call.completed" }] }),
  );
  const start = async (...words: string[]) => {
    const running = await startSimulatorForCommand(flagsOf("--port", "0", "--calls", "0", ...words));
    onTestFinished(() => running.close());
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${running.server.port}${path}`, { headers });
    return { running, get };
  };
  const plain = await start("--token", "0123456789abcdef");
  // It is reachable only from this machine, so it needs no token.
  expect(plain.running.token).toBeUndefined();
  expect((await plain.get("/control/clock")).status).toBe(200);
  expect(plain.running.simulator.traffic.perMinute()).toBe(0);

  const wide = await start(
    ...`--host 0.0.0.0 --token 0123456789abcdef --traffic 30 --scenario ${file}`.split(" "),
  );
  expect(wide.running.token).toBe("0123456789abcdef");
  expect((await wide.get("/control/clock")).status).toBe(401);
  const own = { authorization: "Bearer 0123456789abcdef" };
  expect((await wide.get("/control/clock", own)).status).toBe(200);
  expect(wide.running.simulator.traffic.perMinute()).toBe(30);
  expect(wide.running.simulator.scenarios.list().map(({ name }) => name)).toContain("mine");
  const made = await start("--host", "0.0.0.0");
  expect(made.running.token).toMatch(/^[0-9a-f]{32}$/);
});

test("the banner as JSON has its addresses, its keys, its seed and its token, and each address answers", async () => {
  const token = "0123456789abcdef";
  const flags = flagsOf("--port", "0", "--calls", "0", "--seed", "7", "--host", "0.0.0.0", "--token", token);
  const running = await startSimulatorForCommand(flags);
  onTestFinished(() => running.close());
  const { url } = running.server;
  const organizations = running.simulator.world.organizations();
  expect(bannerValue(running)).toEqual({
    object: "simulator",
    url,
    api_url: `${url}/api/v1`,
    dashboard_url: `${url}/dashboard`,
    seed: 7,
    clock: "real",
    organizations: organizations.map(({ organization: { id, name }, apiKey }) => ({
      id,
      name,
      api_key: apiKey,
    })),
    token,
  });
  for (const [path, status] of [
    ["/docs", 302],
    [`/dashboard?token=${token}`, 200],
    ["/openapi.json", 200],
  ] as const)
    expect((await fetch(`${url}${path}`, { redirect: "manual" })).status, path).toBe(status);
});

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["localhost", "localhost"],
  // Other machines reach it by many names; locally it has one.
  ["0.0.0.0", "localhost"],
])("bound to %s it says that it is at %s, also where its recordings are", async (host, name) => {
  const token = "0123456789abcdef";
  const flags = flagsOf("--port", "0", "--calls", "2", "--host", host, "--token", token);
  const running = await startSimulatorForCommand(flags);
  onTestFinished(() => running.close());
  const url = `http://${name}:${running.server.port}`;
  expect(running.server.url).toBe(url);
  const headers = { authorization: "Bearer va_test_restaurant" };
  const calls: unknown = await (await fetch(`${url}/api/v1/calls`, { headers })).json();
  const recordings = [...JSON.stringify(calls).matchAll(/"recording_url":"([^"]*)"/g)].map(
    ([, at = ""]) => at,
  );
  expect(recordings).toHaveLength(1);
  for (const at of recordings) {
    expect(at.startsWith(`${url}/recordings/call_`)).toBe(true);
    expect((await fetch(at)).headers.get("content-type")).toBe("audio/mpeg");
  }
});
