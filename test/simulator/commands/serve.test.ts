import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { listen } from "../../helpers/listen.ts";
import { run as spawnRun, serve } from "../../helpers/process.ts";
import { openSimulator, temporaryDirectory } from "../../helpers/simulator.ts";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import { run } from "./in-process.ts";

test("prints addresses, keys, the endpoint's secret and the next steps; logs what happens; ends at Ctrl-C with 0", async () => {
  const receiver = await startEndpoint();
  const directory = temporaryDirectory();
  const story = join(directory, "story.json");
  writeFileSync(
    story,
    JSON.stringify({
      name: "my-story",
      summary: "Mine.",
      steps: [{ after_seconds: 0, type: "call.completed" }],
    }),
  );
  const options = "--port 0 --calls 10 --clock skip --reading limit_out_of_range=clamp".split(" ");
  const file = `@${join(directory, "secret")}`;
  writeFileSync(file.slice(1), "whsec_mine\n");
  const forward = ["--forward-to", receiver.url, "--secret", file, "--events", "call.completed"];
  const faults = ["--scenario", story];
  const served = spawnRun("simulator/main.ts", ["serve", ...options, ...forward, ...faults]);
  await served.line((line) => line.includes("whsec_mine"));
  const url = /http:\S+(?=\/dashboard)/.exec(served.out.join("\n"))?.[0] ?? "";
  const banner = served.out.join("\n");
  for (const text of [
    "va_test_restaurant",
    "va_test_services",
    "skip",
    "until it ends",
    "the last 100,000 deliveries",
    receiver.url,
  ])
    expect(banner).toContain(text);

  const triggered = await run("trigger", "my-story", "--simulator", url);
  expect(triggered).toMatchObject({ code: 0 });
  await served.line((line) => /<-- {2}\[200\] POST http:.*attempt 1, \d+ ms$/.test(line));
  const page = await fetch(`${url}/api/v1/me`, { headers: { authorization: "Bearer va_test_restaurant" } });
  expect(page.status).toBe(200);
  const { data } = (await run("endpoints", "--json", "--simulator", url)).json();
  expect(data).toMatchObject([{ event_types: ["call.completed"] }]);

  expect(await served.kill("SIGINT")).toEqual({ code: 0, signal: null });
  expect(served.errors.join("\n")).toContain(`trigger call.completed --simulator ${url}`);
  expect(served.errors.join("\n")).not.toContain("endpoints add");
});

test("--json prints one JSON line for the start and one for each attempt; stopped and started, nothing is lost or repeated", async () => {
  const data = join(temporaryDirectory(), "data.db");
  const receiver = await startEndpoint(500);
  // Another spelling than the stored one: the second start still recognises its endpoint.
  const spelled = receiver.url.replace("http:", "HTTP:");
  const options = ["--data", data, "--clock", "manual", "--forward-to", spelled];
  const first = await serve(options);
  const banner = JSON.parse(first.out[0] ?? "") as Record<string, unknown>;
  const secret = expect.stringMatching(/^whsec_/);
  expect(banner).toMatchObject({ object: "simulator", clock: "manual", secret });
  await run("trigger", "call.completed", "--simulator", first.url);
  const attempt = JSON.parse(await first.line((line) => line.includes('"object":"delivery"')));
  expect(attempt).toMatchObject({ state: "attempting", attempt: 1, attempts: [{ http_status: 500 }] });
  expect(await first.kill("SIGTERM")).toEqual({ code: 0, signal: null });

  const second = await serve(options);
  const again = JSON.parse(second.out[0] ?? "") as Record<string, unknown>;
  expect(again).toMatchObject({ seed: banner["seed"] });
  expect(again).not.toHaveProperty("secret");
  expect((await run("endpoints", "--json", "--simulator", second.url)).json().data).toHaveLength(1);
  receiver.behave(200);
  await run("clock", "run", "--simulator", second.url);
  expect(receiver.received).toHaveLength(2);
  expect(receiver.received[1]?.body).toEqual(receiver.received[0]?.body);
});

test("a taken port could not be run, and says which other to choose", async () => {
  const { port } = await listen(createServer());
  const { code, err } = await run("serve", "--port", String(port), "--calls", "0");
  expect(code).toBe(3);
  expect(err).toBe(
    `Port ${port} on 127.0.0.1 is taken (another simulator?): stop what runs there, or choose another with --port.\n`,
  );
});

test("a damaged data file is no bug of ours", async () => {
  const data = join(temporaryDirectory(), "data.db");
  await openSimulator({ dataFile: data }).close();
  // The first pages still say what the file is.
  writeFileSync(data, readFileSync(data).fill("x", 8_192, 8_292));
  const { code, err } = await run("serve", "--port", "0", "--data", data);
  expect([code, err]).toEqual([3, expect.stringMatching(/^The data file cannot be used \(.* malformed\): /)]);
});

test.each([
  [["--clock", "fast"], "Allowed choices are real, skip, manual."],
  [["--port", "70000"], "Give a whole number from 0 to 65535"],
  [["--seed", "-1"], "Give a whole number"],
  [["--traffic", "often"], "Give a whole number"],
  [["--reading", "limit_out_of_rang=clamp"], 'Did you mean "limit_out_of_range"?'],
  [["--fault", "slow"], "Unknown fault"],
  [["--scenario", "missing.json"], "The scenario missing.json cannot be read: there is no such file."],
  [["--events", "call.complete"], 'Did you mean "call.completed"?'],
  [["--secret", "x"], "are for the endpoint of --forward-to"],
  [["--events", "call.completed"], "are for the endpoint of --forward-to"],
  [
    ["--forward-to", "http://example.com/"],
    "--forward-to http://example.com/: http:// is for localhost only",
  ],
  [["--forward-to", "localhost:3000"], "Give a full URL"],
])("serve %j is wrong usage, in one line", async (args, message) => {
  const { code, out, err } = await run("serve", "--port", "0", "--calls", "0", ...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

test("an invalid data file exits with could not run", async () => {
  const file = join(temporaryDirectory(), "data.db");
  writeFileSync(file, "no database".repeat(500));
  const { code, err } = await run("serve", "--port", "0", "--data", file);
  expect(code).toBe(3);
  expect(err).toBe(`${file} is not a simulator's data file: use another --data file.\n`);
});

test("the command ends silently when the reader of its output closes the pipe", async () => {
  const readings = spawnRun("simulator/main.ts", ["readings"]);
  readings.child.stdout.destroy();
  expect(await readings.exited).toEqual({ code: 0, signal: null });
  expect(readings.errors.join("\n")).not.toContain("EPIPE");
});

test.skipIf(!existsSync("/dev/full"))("an output that cannot be written is an error in one line", () => {
  const program = [process.execPath, ...RUN_TYPESCRIPT, "simulator/main.ts", "readings"];
  const { status, stderr } = spawnSync("sh", ["-c", '"$@" > /dev/full', "sh", ...program], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([3, expect.stringMatching(/^The output cannot be written: .*\n$/m)]);
});
