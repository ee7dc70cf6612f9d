import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../helpers/free-port.ts";
import { ROOT } from "../repository/files.ts";
import { run } from "../simulator/commands/in-process.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";

const dockerfile = readFileSync(`${ROOT}Dockerfile`, "utf8");
/** The instructions of each stage, by its name. */
const stages = new Map(
  dockerfile
    .split(/^FROM /m)
    .slice(1)
    .map((text) => [/ AS (\w+)/.exec(text)?.[1] ?? "", text]),
);

describe("the images", () => {
  test("copy existing files, and run built ones", () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = ""]) =>
      from.split(" "),
    );
    expect(copied.filter((path) => !existsSync(ROOT + path))).toEqual([]);
    const run = [...dockerfile.matchAll(/^ENTRYPOINT .*"dist\/(\S+)\.js"/gm)].map(([, file]) => `${file}.ts`);
    expect(run).toEqual(["receiver/main.ts", "simulator/main.ts"]);
    expect(run.filter((path) => !existsSync(ROOT + path))).toEqual([]);
  });

  test("run as an unprivileged user, with a health check", () => {
    for (const name of ["receiver", "simulator"]) {
      const users = [...`${stages.get("installed")}${stages.get(name)}`.matchAll(/^USER (\w+)$/gm)];
      expect(users.at(-1)?.[1]).toBe("node");
      expect(stages.get(name)).toContain(`CMD ["node", "dist/${name}/main.js", "health"]`);
    }
  });
});

describe("the health check", () => {
  const READY = { status: "ready", checks: { database: "ok" } };
  const UNREADY = { status: "not_ready", checks: { database: "ok", disk: "low", shutdown: "draining" } };

  async function listen(status: number, body: object) {
    const asked: string[] = [];
    const server = createServer(({ url = "" }, response) => {
      asked.push(url);
      response.writeHead(status).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    return { port: String((server.address() as AddressInfo).port), asked };
  }

  test("of the receiver uses each role's own port, for any host", async () => {
    const settings = { SIGNING_SECRET: "whsec_any", HOST: "0.0.0.0" };
    const ready = await listen(200, READY);
    expect(await runReceiver(["health"], { ...settings, PORT: ready.port })).toMatchObject({
      code: 0,
      out: "ready\n",
    });
    const worker = { RECEIVER_ROLE: "worker", PORT: "1", ADMIN_PORT: ready.port };
    expect(await runReceiver(["health"], worker)).toMatchObject({ code: 0 });
    expect(ready.asked).toEqual(["/readyz", "/readyz"]);

    const unready = await listen(503, UNREADY);
    expect(await runReceiver(["health"], { ...settings, PORT: unready.port })).toMatchObject({
      code: 1,
      out: "not ready: disk low, shutdown draining\n",
    });
    const nobody = await runReceiver(["health"], { ...settings, PORT: String(await freePort()) });
    expect(nobody.code).toBe(3);
    expect(nobody.err).toContain("no receiver answers at http://127.0.0.1:");
  });

  test("of the simulator requests a path that needs no token", async () => {
    const document = { servers: [{ url: "/", description: "This simulator" }] };
    const simulator = await listen(200, document);
    const at = (port: string) => run("health", "--simulator", `http://127.0.0.1:${port}`);
    expect(await at(simulator.port)).toMatchObject({ code: 0, out: "ready\n" });
    expect(simulator.asked).toEqual(["/openapi.json"]);
    expect(await at((await listen(200, {})).port)).toMatchObject({ code: 3 });
    expect(await at((await listen(404, document)).port)).toMatchObject({ code: 3 });
    expect(await at(String(await freePort()))).toMatchObject({ code: 3, out: "" });
  });
});
