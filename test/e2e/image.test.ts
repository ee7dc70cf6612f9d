import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { ROOT } from "../repository/files.ts";

const dockerfile = readFileSync(`${ROOT}Dockerfile`, "utf8");
/** The instructions of each stage, by its name. */
const stages = new Map(
  dockerfile
    .split(/^FROM /m)
    .slice(1)
    .map((text) => [/ AS (\w+)/.exec(text)?.[1] ?? "", text]),
);

describe("the images", () => {
  test("copy what there is, and run what the build makes", () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = ""]) =>
      from.split(" "),
    );
    expect(copied.filter((path) => !existsSync(ROOT + path))).toEqual([]);
    const run = [...dockerfile.matchAll(/"dist\/(\S+)\.js"/g)].map(([, file]) => `${file}.ts`);
    expect(run).toEqual(["receiver/main.ts", "simulator/main.ts"]);
    expect(run.filter((path) => !existsSync(ROOT + path))).toEqual([]);
  });

  test("run as nobody in particular, with a health check", () => {
    for (const name of ["receiver", "simulator"]) {
      const users = [...`${stages.get("installed")}${stages.get(name)}`.matchAll(/^USER (\w+)$/gm)];
      expect(users.at(-1)?.[1]).toBe("node");
      expect(stages.get(name)).toContain('CMD ["node", "tools/health.ts"');
    }
  });

  test("bring the packages for PostgreSQL in the versions that are tested here", () => {
    const { peerDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
      peerDependencies: Record<string, string>;
    };
    for (const [name, version] of Object.entries(peerDependencies)) {
      expect(stages.get("receiver")).toContain(`${name}@${version}`);
    }
  });
});

describe("the health check", () => {
  async function check(
    answers: Record<string, number>,
    settings: Record<string, string>,
    words: string[] = [],
  ) {
    const asked: string[] = [];
    const server = createServer(({ url = "", headers }, response) => {
      asked.push(`${url} ${headers.authorization ?? ""}`.trim());
      response.writeHead(answers[url] ?? 404).end();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const port = String((server.address() as AddressInfo).port);
    const filled = Object.entries(settings).map(([name, value]) => [name, value.replace("{port}", port)]);
    const child = spawn(
      process.execPath,
      ["tools/health.ts", ...words.map((word) => word.replace("{port}", port))],
      {
        cwd: ROOT,
        env: Object.fromEntries(filled),
      },
    );
    const code = await new Promise((resolve) => child.once("exit", resolve));
    return { code, asked };
  }

  test("asks each role at its own port, and the simulator", async () => {
    const token = { ADMIN_TOKEN: "sixteen-letters!" };
    const [ready, unready, worker, simulator, nobody] = await Promise.all([
      check({ "/readyz": 200 }, { PORT: "{port}" }),
      check({ "/readyz": 503 }, { PORT: "{port}" }),
      check({ "/readyz": 200 }, { PORT: "1", RECEIVER_ROLE: "worker", ADMIN_PORT: "{port}", ...token }),
      check({ "/openapi.json": 200 }, {}, ["simulator", "{port}"]),
      check({}, { PORT: "1" }),
    ]);
    expect(ready).toEqual({ code: 0, asked: ["/readyz"] });
    expect(unready).toEqual({ code: 1, asked: ["/readyz"] });
    expect(worker).toEqual({ code: 0, asked: ["/readyz Bearer sixteen-letters!"] });
    expect(simulator).toEqual({ code: 0, asked: ["/openapi.json"] });
    expect(nobody).toEqual({ code: 1, asked: [] });
  });
});
