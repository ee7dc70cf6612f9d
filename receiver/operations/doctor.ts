import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { systemClock, type Clock } from "../clock.ts";
import { environmentForHandlers, type Config, type Environment } from "../config.ts";
import { siblingFile } from "../work/module.ts";
import type { Store } from "../store/port.ts";
import { EXIT, isUnbegun, onStore, type Context, type Outcome } from "./commands/run.ts";
import { createRestClient, RestError, type RestClient } from "./rest-client.ts";

export type Finding = { check: string; level: "ok" | "warning" | "problem"; message: string };

/** `store` is undefined if there is no database yet, `api` if no key is set. */
type Look = {
  config: Config;
  store: Store | undefined;
  api: RestClient | undefined;
  clock: Clock;
  environment: Environment;
};

/** Each finding says what to do about it. */
type Found = AsyncGenerator<[level: Finding["level"], message: string]>;

/** The command. It opens the database only if it exists: checking must not create one. */
export async function doctor({ config }: Context): Promise<Outcome> {
  const api = config.api && createRestClient(config.api);
  const look = { config, api, clock: systemClock, environment: process.env };
  const findings = isUnbegun(config)
    ? await examine({ ...look, store: undefined })
    : await onStore(config, async (store) => examine({ ...look, store }));
  await api?.close();
  return {
    exitCode: findings.some(({ level }) => level === "problem") ? EXIT.somethingIsWrong : EXIT.ok,
    json: { findings },
    lines: findings.map((one) => `${one.level.padEnd(7)}  ${one.check.padEnd(8)}  ${one.message}`),
  };
}

/** Checks everything that a receiver depends on. */
export async function examine(look: Look): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [check, find] of Object.entries({ database, disk, handlers, api }))
    for await (const [level, message] of find(look)) findings.push({ check, level, message });
  return findings;
}

async function* database({ config: { databaseFile = "" }, store }: Look): Found {
  const above = dirname(dirname(resolve(databaseFile)));
  const none = `No database is at ${databaseFile} yet: the first start creates it. If it was deleted, start the receiver, then run \`reconcile --since 7d\`.`;
  if (!store) {
    yield existsSync(above)
      ? ["warning", none]
      : ["problem", `There is no folder ${above}. Fix DATABASE_URL.`];
    return;
  }
  const fix = " Stop the receiver and restore a backup; then `reconcile` fetches later events.";
  const damage = await store.ledger.check().catch((error: unknown) => [`${String(error)}.`]);
  for (const line of damage) yield ["problem", databaseFile === "" ? line : line + fix];
  const probed = await store.intake.probe();
  if (!probed.ok) yield ["problem", `It does not accept writes (${probed.reason}): ${probed.detail}`];
  else if (damage.length === 0) yield ["ok", "It is intact and accepts writes."];
}

/** NFS, CIFS and SMB, by their magic numbers on Linux. */
const NETWORK_FILE_SYSTEMS = new Set([0x6969, 0xff534d42, 0xfe534d42, 0x517b]);

async function* disk({ config: { databaseFile, minimumFreeBytes } }: Look): Found {
  if (databaseFile === undefined) return;
  let folder = dirname(resolve(databaseFile));
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize, type } = await statfs(folder);
  if (process.platform === "linux" && NETWORK_FILE_SYSTEMS.has(type))
    yield ["problem", `${folder} is on a network file system, where SQLite's locks do not work.`];
  const free = `${String(Math.round((bavail * bsize) / 1_048_576))} MiB are free in ${folder}`;
  if (bavail * bsize >= minimumFreeBytes) yield ["ok", `${free}.`];
  else yield ["problem", `${free}, below MIN_FREE_DISK_BYTES: events are refused. Make room.`];
}

const LOADING_LIMIT_MS = 60_000;
const loadedSchema = z.object({ names: z.string().optional(), problem: z.string().optional() });

/** A program that loads the handlers, prints their names or the problem as a line of JSON, and exits. */
const LOAD = `
  const { describeLoadError, loadHandlers } = await import(process.argv[1]);
  const names = async ({ handlers, close }) => (await close(), { names: handlers.map(({ name }) => name).join(", ") });
  const found = await loadHandlers().then(names).catch((error) => ({ problem: describeLoadError(error) }));
  process.stdout.write("\\n" + JSON.stringify(found) + "\\n", () => process.exit());`;

/** Loads the handlers in their own process, as a worker would. */
async function* handlers({ config, environment }: Look): Found {
  if (config.role === "ingest") return;
  const env = environmentForHandlers(environment);
  const module = siblingFile(import.meta.url, "../work/module").href;
  const words = ["--import", import.meta.resolve("tsx"), "--input-type=module", "--eval", LOAD, module];
  const run = promisify(execFile)(process.execPath, words, { env, timeout: LOADING_LIMIT_MS });
  const broken = '{ "problem": "their process crashed or took too long" }';
  const { stdout } = await run.catch(() => ({ stdout: broken }));
  const { names, problem } = loadedSchema.parse(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""));
  if (problem === undefined) yield ["ok", `${names ?? ""} can start.`];
  else yield ["problem", `They cannot start: ${problem}`];
}

async function* api({ api, clock }: Look): Found {
  if (!api) {
    yield ["warning", "API_BASE_URL and API_KEY are not set: reconcile cannot recover lost events."];
    return;
  }
  try {
    const { name, id } = await api.me();
    yield ["ok", `The key belongs to ${name} (${id}).`];
    const skewSeconds = Math.round(((api.serviceTimeMs() ?? clock.nowMs()) - clock.nowMs()) / 1_000);
    const off = `${String(Math.abs(skewSeconds))} s ${skewSeconds > 0 ? "behind" : "ahead of"} the service's`;
    const message = `This machine's clock is ${off}. Signatures are valid for 300 s. Run an NTP client.`;
    if (Math.abs(skewSeconds) >= 30) yield [Math.abs(skewSeconds) >= 300 ? "problem" : "warning", message];
  } catch (error) {
    if (!(error instanceof RestError)) throw error;
    yield ["problem", error.message];
  }
}
