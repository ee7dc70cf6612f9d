import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { forkFiles } from "../../tools/fork/files.ts";
import { loadConfig } from "../../receiver/config.ts";
import { ROOT } from "../repository/files.ts";
import { parseSimulator } from "./our-commands.ts";

const read = (path: string): string => readFileSync(`${ROOT}${path}`, "utf8");

describe("examples/beside/compose.yaml", () => {
  const FILE = "examples/beside/compose.yaml";
  const { services } = z
    .object({ services: z.record(z.string(), z.object({ command: z.array(z.string()).default([]) })) })
    .parse(parse(read(FILE)));

  test.each(["simulator", "verify"])("gives %s a command that it takes", async (name) => {
    expect(await parseSimulator(services[name]?.command ?? [])).toBeUndefined();
  });
});

describe("the image of a fork", () => {
  const files = forkFiles(ROOT, "my-receiver", { library: false, postgres: false });
  const dockerfile = files.get("Dockerfile") ?? "";

  test("copies the files of a fork, and starts it, as an unprivileged user", () => {
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
