import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import type { Config, Environment } from "../config.ts";
import { siblingFile } from "../sibling-file.ts";
import type { Store } from "../store/port.ts";
import { NOT_FOR_HANDLERS } from "./privacy.ts";
import { RestError, type RestClient } from "./rest-client.ts";

export type Finding = { check: string; level: "ok" | "warning" | "problem"; message: string };

const SKEW_WARNING_MS = 30_000;
const SKEW_PROBLEM_MS = 300_000;
const OLD_EVENT_MS = 3_600_000;
const SHORTEST_SECRET = 16;
const LOADING_LIMIT_MS = 60_000;
/** By their magic numbers on Linux. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0xff53_4d42, "CIFS"],
  [0xfe53_4d42, "SMB2"],
  [0x517b, "SMB"],
]);

/** Checks everything that a receiver depends on. Returns a finding for each, with what to do about it. */
export async function examine(options: {
  config: Config;
  /** Undefined if there is no database yet. */
  store: Store | undefined;
  api: RestClient | undefined;
  clock: Clock;
  environment: Environment;
}): Promise<Finding[]> {
  const { config, store, api, clock, environment } = options;
  const found = await Promise.all([
    secretFindings(config, environment),
    store ? databaseFindings(store, config) : [noDatabase(config)],
    config.databaseFile === undefined ? [] : diskFindings(config.databaseFile, config.minimumFreeBytes),
    config.role === "ingest" ? [] : handlerFindings(environment),
    api
      ? apiFindings(api, clock)
      : [warning("api", "API_BASE_URL and API_KEY are not set: reconcile can heal nothing after an outage.")],
  ]);
  return found.flat();
}

const at =
  (level: Finding["level"]) =>
  (check: string, message: string): Finding => ({ check, level, message });
const [ok, warning, problem] = [at("ok"), at("warning"), at("problem")];

function secretFindings({ signingSecrets: secrets }: Config, environment: Environment): Finding[] {
  const found = secrets.flatMap((secret, index) => {
    const which = `Secret ${String(index + 1)} in SIGNING_SECRET`;
    if (secrets.indexOf(secret) !== index) return warning("secrets", `${which} is there twice.`);
    return secret.length < SHORTEST_SECRET
      ? warning("secrets", `${which} has under ${String(SHORTEST_SECRET)} characters: is it whole?`)
      : [];
  });
  if (secrets.length > 1)
    found.push(
      warning(
        "secrets",
        "Several secrets are active. Once receiver_secret_matches_total of the old one stands still for 15 h, remove it.",
      ),
    );
  const files = [
    environment["SIGNING_SECRET_FILE"],
    environment["API_KEY_FILE"],
    environment["ADMIN_TOKEN_FILE"],
    ".env",
  ];
  for (const file of files)
    if (
      file !== undefined &&
      process.platform !== "win32" &&
      ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o007) !== 0
    )
      found.push(warning("secrets", `Everyone can read ${file}: chmod o-rwx ${file}`));
  return found.length > 0 ? found : [ok("secrets", "Whole, and nobody else can read them.")];
}

function noDatabase({ databaseFile = "" }: Config): Finding {
  const above = dirname(dirname(resolve(databaseFile)));
  if (!existsSync(above))
    return problem("database", `There is no folder ${above}: make it, or fix DATABASE_URL.`);
  return warning(
    "database",
    `There is none at ${databaseFile} yet: the first start creates it. If it was deleted, start the receiver, then run \`reconcile --since 7d\`, which brings back calls and voicemails.`,
  );
}

async function databaseFindings({ ledger, intake }: Store, config: Config): Promise<Finding[]> {
  const isFile = config.databaseFile !== undefined;
  const fix = isFile
    ? " Stop the receiver and restore a backup; `reconcile` then brings what came since."
    : "";
  const damage = (await ledger.check()).map((line) => problem("database", line + fix));
  if (damage.length > 0 && isFile) return damage;
  const probed = await intake.probe();
  if (!probed.ok)
    return [...damage, problem("database", `It takes no writes (${probed.reason}): ${probed.detail}`)];
  return [...damage, ok("database", "It takes writes."), ...(await inboxFindings({ ledger }))];
}

/** Events that no handler wants are no warning: there may be none for their type on purpose. */
async function inboxFindings({ ledger }: Pick<Store, "ledger">): Promise<Finding[]> {
  const { causes, handlers, unwanted } = await ledger.counts();
  const found = causes.map(({ handler, cause, dead }) =>
    warning(
      "inbox",
      `${String(dead)} dead of ${handler}: ${cause}. Once that is fixed: inbox requeue --state dead --handler ${handler}`,
    ),
  );
  const isOld = ({ oldestUnfinishedAtMs: oldest }: { oldestUnfinishedAtMs: number | null }): boolean =>
    oldest !== null && Date.now() - oldest > OLD_EVENT_MS;
  for (const { handler } of handlers.filter(isOld))
    found.push(
      warning(
        "inbox",
        `The oldest unfinished event of ${handler} is over an hour old: is a worker running, and does it succeed?`,
      ),
    );
  return found.length > 0
    ? found
    : [ok("inbox", `Nothing is stuck. No handler wanted ${String(unwanted)} events.`)];
}

async function diskFindings(file: string, minimumFreeBytes: number): Promise<Finding[]> {
  let folder = dirname(resolve(file));
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  const { bavail, bsize, type } = await statfs(folder);
  const network = process.platform === "linux" ? NETWORK_FILE_SYSTEMS.get(type) : undefined;
  if (network !== undefined)
    return [
      problem("disk", `${folder} is on ${network}, where SQLite's locks do not hold. Use a local disk.`),
    ];
  const free = `${String(Math.round((bavail * bsize) / 1_048_576))} MiB are free in ${folder}`;
  if (bavail * bsize >= minimumFreeBytes) return [ok("disk", `${free}.`)];
  return [problem("disk", `${free}, below MIN_FREE_DISK_BYTES: events are refused. Make room.`)];
}

/** Loads the handlers in a process of their own, as a worker would. */
async function handlerFindings(environment: Environment): Promise<Finding[]> {
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !NOT_FOR_HANDLERS.has(name)));
  const program = siblingFile(import.meta.url, "load-handlers").pathname;
  const run = promisify(execFile)(process.execPath, ["--import", import.meta.resolve("tsx"), program], {
    env,
    timeout: LOADING_LIMIT_MS,
  });
  const { stdout } = await run.catch(() => ({
    stdout: '{"problem":"Their process ended while it loaded them."}',
  }));
  const { handlers, problem: why } = loadedSchema.parse(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""));
  if (handlers === undefined) return [problem("handlers", `They could not be started: ${why ?? ""}`)];
  return [ok("handlers", `${handlers.join(", ")} can be started.`)];
}

const loadedSchema = z.object({ handlers: z.array(z.string()).optional(), problem: z.string().optional() });

async function apiFindings(api: RestClient, clock: Clock): Promise<Finding[]> {
  try {
    const { name, id } = await api.me();
    return [ok("api", `The key belongs to ${name} (${id}).`), skewFinding(await api.serviceTimeMs(), clock)];
  } catch (error) {
    if (error instanceof RestError) return [problem("api", error.explanation)];
    throw error;
  }
}

function skewFinding(serviceMs: number | undefined, clock: Clock): Finding {
  if (serviceMs === undefined) return warning("clock", "The service sends no Date to compare with.");
  const skewMs = serviceMs - clock.nowMs();
  const seconds = String(Math.round(Math.abs(skewMs) / 1_000));
  const message = `This machine's clock is ${seconds} s ${skewMs > 0 ? "behind" : "ahead of"} the service's.`;
  if (Math.abs(skewMs) >= SKEW_PROBLEM_MS)
    return problem("clock", `${message} Every signature is refused: run an NTP client.`);
  if (Math.abs(skewMs) >= SKEW_WARNING_MS)
    return warning("clock", `${message} Signatures are good for 300 s: run an NTP client.`);
  return ok("clock", message);
}
