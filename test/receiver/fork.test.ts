import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { get, newBody, post } from "./helpers/events.ts";
import { startProcess } from "./helpers/process.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What a fork takes along. `npm ci` brings the rest there; here the installed modules stand in for it. */
const FORK = ["receiver", "shared", "package.json", "package-lock.json", "tsconfig.json"];

test("a fork of the receiver alone type-checks and serves", { timeout: 180_000 }, async () => {
  const fork = temporaryDirectory();
  for (const name of FORK) cpSync(join(root, name), join(fork, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(fork, "node_modules"));

  const checked = spawnSync(process.execPath, [join(fork, "node_modules/typescript/bin/tsc"), "--noEmit"], {
    cwd: fork,
  });
  expect({ status: checked.status, stdout: checked.stdout.toString() }).toEqual({ status: 0, stdout: "" });

  const receiver = await startProcess({
    entry: join(fork, "receiver/main.ts"),
    environment: { DATABASE_URL: `sqlite:${join(fork, "data/receiver.db")}` },
  });
  expect((await post(receiver.url, newBody())).status).toBe(200);
  const ready = await until(
    async () => get(new URL("/readyz", receiver.url)),
    ({ status }) => status === 200,
  );
  expect(await ready.json()).toMatchObject({ status: "ready" });
});

test("the receiver imports nothing but itself, shared/ and declared dependencies", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
  };
  const dependencies = { ...manifest.dependencies, ...manifest.peerDependencies };
  const strangers: string[] = [];
  for (const file of readdirSync(join(root, "receiver"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    for (const [, name = ""] of readFileSync(join(root, "receiver", file), "utf8").matchAll(
      /from "([^"]+)"|^import "([^"]+)"/gm,
    )) {
      const allowed =
        name.startsWith("node:") ||
        name in dependencies ||
        (name.startsWith(".") && /^(receiver|shared)\//.test(join("receiver", file, "..", name)));
      if (name !== "" && !allowed) strangers.push(`${file}: ${name}`);
    }
  }
  expect(strangers).toEqual([]);
});
