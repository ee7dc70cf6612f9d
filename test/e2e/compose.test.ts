import { existsSync, readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { onTestFinished, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { newDatabase } from "../helpers/postgres/shared.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { freePort } from "../helpers/free-port.ts";
import { run } from "../helpers/process.ts";
import { loadConfig } from "../../receiver/config.ts";
import { startProcess } from "../receiver/helpers/process.ts";
import { until } from "../receiver/helpers/until.ts";

/** compose.yaml without containers: each command of ours runs as it stands there, on other ports. */

const serviceSchema = z.object({
  image: z.string().optional(),
  build: z.object({ target: z.string() }).optional(),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  deploy: z.object({ replicas: z.number() }).optional(),
  ports: z.array(z.string()).default([]),
  configs: z.array(z.object({ source: z.string() })).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
});
const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  configs: z.record(z.string(), z.object({ content: z.string().optional(), file: z.string().optional() })),
});
const { services, configs } = composeSchema.parse(
  parse(readFileSync("compose.yaml", "utf8"), { merge: true }),
);
const service = (name: string): z.infer<typeof serviceSchema> => serviceSchema.parse(services[name]);

describe("compose.yaml", () => {
  test.runIf(ALL)(
    "takes events, handles them, and drives load with the very commands that stand in it",
    async () => {
      const { url, drop } = await newDatabase();
      onTestFinished(drop);
      const receiver = async (name: string) =>
        startProcess({
          environment: {
            // None but the one that stands there: a worker has none.
            SIGNING_SECRET: "",
            ...service(name).environment,
            DATABASE_URL: url,
            HOST: "127.0.0.1",
            PORT: "0",
            ADMIN_HOST: "127.0.0.1",
            ADMIN_PORT: "0",
          },
        });
      const [ingest] = await Promise.all([receiver("ingest"), receiver("worker")]);
      const simulator = (name: string, ...more: string[]) => {
        const words = service(name).command.map((word) =>
          word.replace("http://ingest:3000/webhooks", ingest.url).replace("0.0.0.0", "127.0.0.1"),
        );
        return run("simulator/main.ts", [...words, ...more]);
      };
      const serving = simulator("simulator", `--port=${String(await freePort())}`, "--json", "--calls=0");
      const load = simulator("load", "--duration=1s", "--json");
      await load.exited;
      const said: unknown = JSON.parse(load.out.join(""));
      expect(said).toMatchObject({ acknowledged: 200, failures: {} });
      // What the simulator's traffic brings, beside the load's events.
      await serving.line((line) => line.includes('"object":"simulator"'));
      const metrics = `${ingest.adminUrl}/metrics`;
      const headers = { authorization: `Bearer ${service("ingest").environment["ADMIN_TOKEN"] ?? ""}` };
      const handled = async (): Promise<number> =>
        Number(
          /receiver_inbox_events\{state="done"\} ([0-9]+)/.exec(
            await (await fetch(metrics, { headers })).text(),
          )?.[1],
        );
      await until(handled, (events) => events > 200);
    },
  );

  test.each(["ingest", "worker"])("gives %s settings with which it starts", (name) => {
    expect(loadConfig(service(name).environment)).toMatchObject({ ok: true });
  });

  test("says the same in all places: secrets, hosts and ports", () => {
    const { environment } = service("ingest");
    const [webhooks] = service("load").command.filter((word) => word.startsWith("http://"));
    expect(webhooks).toBe(`http://ingest:${environment["PORT"] ?? ""}/webhooks`);
    expect(service("simulator").command).toContain(`--forward-to=${webhooks ?? ""}`);
    for (const name of ["simulator", "load"]) {
      expect(service(name).command).toContain(`--secret=${environment["SIGNING_SECRET"] ?? ""}`);
    }
    const {
      POSTGRES_USER: user,
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: name,
    } = service("postgres").environment;
    expect(environment["DATABASE_URL"]).toBe(
      `postgres://${String(user)}:${String(password)}@postgres:5432/${String(name)}`,
    );
    expect([service("ingest").deploy, service("worker").deploy]).toEqual([{ replicas: 2 }, { replicas: 2 }]);
    // Nobody else's machine reaches any of it.
    const ports = Object.values(services).flatMap((one) => one.ports);
    expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
  });

  test("has Prometheus look where the receivers are, and Grafana where Prometheus is", () => {
    const used = Object.values(services).flatMap((one) => one.configs.map(({ source }) => source));
    expect(used.toSorted()).toEqual(Object.keys(configs).toSorted());
    const missing = Object.values(configs).filter(({ file }) => file !== undefined && !existsSync(file));
    expect(missing).toEqual([]);
    const prometheus = z
      .object({
        scrape_configs: z.array(
          z.object({
            job_name: z.string(),
            authorization: z.object({ credentials: z.string() }),
            dns_sd_configs: z.array(z.object({ names: z.array(z.string()), port: z.number() })),
          }),
        ),
      })
      .parse(parse(configs["prometheus"]?.content ?? ""));
    const [job] = prometheus.scrape_configs;
    expect(job?.authorization.credentials).toBe(service("worker").environment["ADMIN_TOKEN"]);
    expect(job?.dns_sd_configs).toMatchObject([{ names: ["ingest", "worker"], port: 3_001 }]);
    expect(service("worker").environment).toMatchObject({ ADMIN_HOST: "0.0.0.0", ADMIN_PORT: "3001" });
    expect(readFileSync("deploy/alerts.yaml", "utf8")).toContain(`up{job="${job?.job_name ?? ""}"}`);
    expect(parse(configs["datasource"]?.content ?? "")).toMatchObject({
      datasources: [{ type: "prometheus", url: "http://prometheus:9090" }],
    });
    expect(parse(configs["dashboards"]?.content ?? "")).toMatchObject({
      providers: [{ options: { path: "/dashboards" } }],
    });
  });

  const [, ready = "", ...words] = service("postgres").healthcheck?.test ?? [];
  const hasReady = spawnSync(ready, ["--version"]).status === 0;
  test.skipIf(!hasReady)(`asks PostgreSQL whether it is ready (needs ${ready})`, async () => {
    const { url, drop } = await newDatabase();
    onTestFinished(drop);
    const { hostname, port } = new URL(url);
    const asked = spawnSync(ready, words, { env: { ...process.env, PGHOST: hostname, PGPORT: port } });
    expect(asked.status).toBe(0);
  });
});
