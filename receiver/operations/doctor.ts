import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Config } from "../config.ts";
import type { Engine } from "../engine.ts";
import { filesOf } from "../engines/open.ts";
import { exposedFiles, filesWith } from "./private-files.ts";
import { RestError, type RestClient } from "./rest-client.ts";

export type Finding = { check: string; level: "ok" | "warning" | "problem"; message: string };

/** Beyond this the clocks disagree enough to be looked at; at 300 s every signature fails. */
const SKEW_WARNING_MS = 30_000;
const SKEW_PROBLEM_MS = 300_000;
const OLD_EVENT_MS = 3_600_000;
const SHORT_SECRET = 16;
/** Rights of those who are neither the owner of a file nor of its group. */
const BITS_OF_EVERYBODY = 0o007;

/** File systems on which SQLite's locks and shared memory do not work, by their magic number on Linux. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0xff53_4d42, "CIFS"],
  [0xfe53_4d42, "SMB2"],
  [0x517b, "SMB"],
]);

/** Checks everything that a receiver depends on. Answers a finding for each, with what to do about it. */
export async function examine(options: {
  config: Config;
  /** Undefined where the database is not there yet: looking makes none. */
  engine: Engine | undefined;
  api: RestClient | undefined;
  environment: NodeJS.ProcessEnv;
}): Promise<Finding[]> {
  const { config, engine, api } = options;
  return [
    ...secretFindings(config),
    ...secretFileFindings(options.environment),
    ...(engine ? await engineFindings(engine, config) : noDatabaseFindings(config)),
    ...(await diskFindings(config)),
    ...(await fileFindings(config)),
    ...(api ? await apiFindings(api) : [warning("api", NO_API)]),
  ];
}

const at =
  (level: Finding["level"]) =>
  (check: string, message: string): Finding => ({ check, level, message });
const [ok, warning, problem] = [at("ok"), at("warning"), at("problem")];

/** A warning for each message, or one finding that all is well. */
function warnings(check: string, messages: readonly string[], well: string): Finding[] {
  return messages.length > 0 ? messages.map((message) => warning(check, message)) : [ok(check, well)];
}

const NO_API = "API_BASE_URL and API_KEY are not set: reconcile can heal nothing after an outage.";

/** What to do about a damaged file, in the words that the commands use as well. */
const FIX_DAMAGE =
  "Stop the receiver and restore both files from one backup; `reconcile` then brings what came since.";

function secretFindings({ signingSecrets: secrets }: Config): Finding[] {
  const found = secrets.flatMap((secret, index) => {
    const which = `Secret ${String(index + 1)} in SIGNING_SECRET`;
    return [
      secret.length < SHORT_SECRET &&
        `${which} has fewer than ${String(SHORT_SECRET)} characters: is it the whole of it?`,
      secrets.indexOf(secret) !== index && `${which} is there twice.`,
    ].filter((message) => message !== false);
  });
  if (secrets.length > 1)
    found.push(
      "Several secrets are active. When receiver_secret_matches_total of the old one stands still for 15 h, the rotation is complete: remove it.",
    );
  return warnings("secrets", found, "One secret, whole.");
}

function secretFileFindings(environment: NodeJS.ProcessEnv): Finding[] {
  const names = ["SIGNING_SECRET_FILE", "API_KEY_FILE", "ADMIN_TOKEN_FILE"];
  const files = [...names.flatMap((name) => environment[name] ?? []), ".env"];
  return filesWith(BITS_OF_EVERYBODY, files).map((file) =>
    warning("secrets", `${file} can be read by everybody: chmod 600 ${file}`),
  );
}

function noDatabaseFindings({ databaseFile = "" }: Config): Finding[] {
  const above = dirname(dirname(resolve(databaseFile)));
  if (!existsSync(above))
    return [problem("database", `There is no folder ${above}: make it, or mend DATABASE_URL.`)];
  return [
    warning(
      "database",
      `There is none at ${databaseFile} yet: the first start makes it. If there should be one, mend DATABASE_URL.`,
    ),
  ];
}

/** A damaged file is not asked what is in its inbox; a server whose settings are weak is. */
async function engineFindings(engine: Engine, config: Config): Promise<Finding[]> {
  const fix = config.databaseFile === undefined ? "" : ` ${FIX_DAMAGE}`;
  const found = ((await engine.ledger.check?.()) ?? []).map((one) => problem("database", one + fix));
  if (found.length > 0 && config.databaseFile !== undefined) return found;
  const probed = await engine.intake.probe();
  if (!probed.ok) {
    const why = `It takes no writes (${probed.reason}): ${probed.detail}`;
    return [...found, problem("database", probed.reason === "corrupt" ? why + fix : why)];
  }
  return [...found, ok("database", "It takes writes."), ...(await backlogFindings(engine))];
}

async function backlogFindings(engine: Engine): Promise<Finding[]> {
  const { byState, byHandler, oldestUnfinishedAgeMs } = await engine.ledger.counts();
  const found: string[] = [];
  const whose = (state: "dead" | "ignored"): string => {
    const names = byHandler.filter((jobs) => jobs[state] > 0).map(({ handler }) => handler);
    return names.length === 0 ? "" : ` (${names.join(", ")})`;
  };
  if (byState.dead > 0)
    found.push(
      `${String(byState.dead)} dead${whose("dead")}: \`inbox list --state dead\` says why, \`inbox requeue --state dead\` tries them again.`,
    );
  if (byState.ignored > 0)
    found.push(
      `${String(byState.ignored)} ignored, which no handler wants${whose("ignored")}: write one, then \`inbox requeue --state ignored\`.`,
    );
  if ((oldestUnfinishedAgeMs ?? 0) > OLD_EVENT_MS)
    found.push(
      "The oldest unfinished event is over an hour old: is a worker running, and do its handlers succeed?",
    );
  return warnings("inbox", found, "Nothing is stuck.");
}

async function diskFindings(config: Config): Promise<Finding[]> {
  if (config.databaseFile === undefined) return [];
  const directory = existingFolder(dirname(resolve(config.databaseFile)));
  const { bavail, bsize, type } = await statfs(directory);
  const network = NETWORK_FILE_SYSTEMS.get(type);
  if (process.platform === "linux" && network !== undefined)
    return [
      problem("disk", `${directory} is on ${network}, where SQLite's locks do not hold. Use a local disk.`),
    ];
  const freeBytes = bavail * bsize;
  const free = `${String(Math.round(freeBytes / 1_048_576))} MiB are free in ${directory}`;
  if (freeBytes < config.minimumFreeBytes)
    return [problem("disk", `${free}, below MIN_FREE_DISK_BYTES: events are refused. Make room.`)];
  return [ok("disk", `${free}.`)];
}

/** The folder, or the nearest one above it that is there. */
function existingFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingFolder(dirname(folder));
}

async function fileFindings(config: Config): Promise<Finding[]> {
  return exposedFiles(await filesOf(config)).map((file) =>
    warning(
      "database",
      `${file} holds personal data, and others than its owner can read it: the next start takes that from them, or chmod 600 ${file}`,
    ),
  );
}

async function apiFindings(api: RestClient): Promise<Finding[]> {
  try {
    const organization = await api.me();
    return [
      ok("api", `The key belongs to ${organization.name} (${organization.id}).`),
      skewFinding(await api.clockSkewMs()),
    ];
  } catch (error) {
    if (!(error instanceof RestError)) throw error;
    return [problem("api", error.explanation)];
  }
}

function skewFinding(skewMs: number | undefined): Finding {
  if (skewMs === undefined) return warning("clock", "The service sends no Date to compare with.");
  const seconds = String(Math.round(Math.abs(skewMs) / 1_000));
  const message = `This machine's clock is ${seconds} s ${skewMs > 0 ? "behind" : "ahead of"} the service's.`;
  if (Math.abs(skewMs) >= SKEW_PROBLEM_MS)
    return problem("clock", `${message} Every signature is refused: run an NTP client.`);
  if (Math.abs(skewMs) >= SKEW_WARNING_MS)
    return warning("clock", `${message} Signatures are good for 300 s: run an NTP client.`);
  return ok("clock", message);
}
