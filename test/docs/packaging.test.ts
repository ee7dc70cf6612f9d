import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { forkFiles } from "../../tools/fork/files.ts";
import { loadConfig } from "../../receiver/config.ts";
import { ROOT } from "../repository/files.ts";
import { parseReceiver, parseSimulator } from "./our-commands.ts";
import { blockUnder } from "./pages.ts";
import { shellCommands } from "./shell.ts";

const read = (path: string): string => readFileSync(`${ROOT}${path}`, "utf8");

describe("examples/beside/compose.yaml", () => {
  const FILE = "examples/beside/compose.yaml";
  const { services } = z
    .object({
      services: z.record(
        z.string(),
        z.object({
          command: z.array(z.string()).default([]),
          environment: z.record(z.string(), z.string()).default({}),
          ports: z.array(z.string()).default([]),
          depends_on: z.array(z.string()).default([]),
        }),
      ),
    })
    .parse(parse(read(FILE)));

  test.each(["simulator", "verify"])("gives %s a command that it takes", async (name) => {
    expect(await parseSimulator(services[name]?.command ?? [])).toBeUndefined();
  });

  test("says the same in all places, and lets in nobody from elsewhere", () => {
    const { environment = {} } = services["app"] ?? {};
    const url = `http://app:${String(environment["PORT"])}/webhooks`;
    for (const name of ["simulator", "verify"]) {
      expect(services[name]?.command).toContain(`--secret=${String(environment["SIGNING_SECRET"])}`);
      expect(services[name]?.command).toContain("--allow-host=app");
      expect(services[name]?.depends_on).toEqual(["app"]);
    }
    expect(services["simulator"]?.command).toContain(`--forward-to=${url}`);
    expect(services["verify"]?.command[1]).toBe(url);
    expect(Object.values(services).flatMap(({ ports }) => ports)).toEqual(["127.0.0.1:4010:4010"]);
    expect(read("Dockerfile")).toMatch(/ AS simulator\n/);
  });
});

test(".devcontainer opens what listens after the README's first command", () => {
  const { postCreateCommand, forwardPorts, image } = z
    .looseObject({ postCreateCommand: z.string(), forwardPorts: z.array(z.number()), image: z.string() })
    .parse(JSON.parse(read(".devcontainer/devcontainer.json")));
  const [first] = shellCommands(blockUnder("README.md", "voice-agent-webhook-kit", "sh"));
  expect(postCreateCommand).toBe(first?.words.join(" "));
  expect(forwardPorts).toEqual([3000, 4010]);
  expect(image).toMatch(/node:24$/);
});

describe("the image of a fork", () => {
  const files = forkFiles(ROOT, "my-receiver", { postgres: false, library: false });
  const dockerfile = files.get("Dockerfile") ?? "";

  test("copies what a fork has, and starts what it has, as nobody in particular", () => {
    const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, from = ""]) => from.split(" "));
    const paths = [...files.keys()];
    expect(
      copied.filter(
        (from) => from !== "." && !paths.some((path) => path === from || path.startsWith(`${from}/`)),
      ),
    ).toEqual([]);
    expect(copied).toEqual(expect.arrayContaining(["package-lock.json", "."]));
    const [, program = ""] = /^ENTRYPOINT \["node", "(.+)"\]$/m.exec(dockerfile) ?? [];
    expect(paths).toContain(program);
    expect([...dockerfile.matchAll(/^USER (\w+)$/gm)].at(-1)?.[1]).toBe("node");
    expect(files.get(".dockerignore")).toContain(".env");
  });

  test("has settings with which a receiver starts, and keeps its events where the volume is", () => {
    const [, words = ""] = /^ENV (.+)$/m.exec(dockerfile) ?? [];
    const settings = Object.fromEntries(words.split(" ").map((word) => word.split("=", 2)));
    const loaded = loadConfig({ ...settings, SIGNING_SECRET: "whsec_any" });
    expect(loaded).toMatchObject({ ok: true, config: { databaseFile: "/data/receiver.db" } });
    expect(dockerfile).toContain("VOLUME /data");
  });
});

test("the container of docs/production.md is stopped later than the receiver stops, and is asked what there is", async () => {
  const commands = shellCommands(blockUnder("docs/production.md", "In a container", "sh")).map(
    ({ words }) => words,
  );
  const run = commands.find(([, verb]) => verb === "run") ?? [];
  expect(Number(run[run.indexOf("--stop-timeout") + 1])).toBeGreaterThan(15);
  expect(run).toEqual(expect.arrayContaining(["--read-only", "--cap-drop", "receiver-data:/data"]));
  const exec = commands.find(([, verb]) => verb === "exec") ?? [];
  expect(await parseReceiver(exec.slice(exec.indexOf("receiver/main.mjs") + 1))).toBeUndefined();
});
