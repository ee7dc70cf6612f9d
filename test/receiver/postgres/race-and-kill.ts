import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { onTestFinished } from "vitest";
import { createServer, type PostgresServer } from "../../../tools/postgres-server.ts";
import { freePort } from "../../helpers/free-port.ts";
import { idOf, newBody, post } from "../helpers/events.ts";
import { startProcess, type ReceiverProcess } from "../helpers/process.ts";
import { makeDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";

const ENTRY = fileURLToPath(new URL("../helpers/receiver-with-handlers.ts", import.meta.url));
const HANDLERS_MODULE = new URL("./race-handlers.ts", import.meta.url).href;

/** What happens meanwhile, and how often it did. */
export type Faults = Record<string, number>;

export type Outcome = {
  acknowledged: number;
  copies: number;
  faults: Faults;
  /** Rows of events, and of the effects of each handler, with those that are not one for each event. */
  stored: number;
  effects: Record<string, number>;
  twice: number;
  missing: number;
  unfinished: number;
};

/**
 * Three processes that take events and three that handle them, on a server of their own. Brings `events` and more to any of them, until each fault has
 * come about, 30 % of them more than once, while processes are killed, sessions ended, and the server restarted and frozen; then waits
 * until all is handled, and counts.
 */
export async function raceAndKill(options: {
  events: number;
  pauseMs: number;
  random: () => number;
}): Promise<Outcome> {
  const { events, pauseMs, random } = options;
  const server = await ownServer();
  const url = await ownDatabase(server);
  const environment = { DATABASE_URL: url, HANDLERS_MODULE, WORKER_CONCURRENCY: "16", LOG_LEVEL: "silent" };
  const start = async (role: "ingest" | "worker"): Promise<ReceiverProcess> =>
    startProcess({ entry: ENTRY, environment: { ...environment, LOG_LEVEL: "info", RECEIVER_ROLE: role } });
  const roles = ["ingest", "ingest", "ingest", "worker", "worker", "worker"] as const;
  const processes = await Promise.all(roles.map(start));
  const any = (count: number): number => Math.floor(random() * count);

  const faults: Faults = {};
  const over = new AbortController();
  const restartProcess = async (at: number): Promise<void> => {
    await processes[at]?.kill();
    // A server that is away meanwhile is tried again.
    for (;;) {
      const started = await start(roles[at] ?? "worker").catch(() => undefined);
      if (started) processes[at] = started;
      if (started) return;
      await delay(200);
    }
  };
  const kinds: Record<string, () => Promise<void>> = {
    "kill -9 of an ingest process": async () => restartProcess(any(3)),
    "kill -9 of a worker process": async () => restartProcess(3 + any(3)),
    "kill -9 of a process of handlers": async () => killHandlers(processes[3 + any(3)]),
    "sessions ended": async () => ask(server.url(), END_HALF_OF_SESSIONS).then(() => undefined),
    "server restarted": async () => server.restart("fast"),
    "server crashed": async () => server.restart("immediate"),
    "server frozen": async () => freeze(server),
    "connection limit": async () =>
      within(server, "ALTER DATABASE raced CONNECTION LIMIT 4", "ALTER DATABASE raced CONNECTION LIMIT -1"),
    "statement time-out": async () =>
      within(
        server,
        "ALTER ROLE receiver SET statement_timeout = '5ms'",
        "ALTER ROLE receiver RESET statement_timeout",
      ),
    "no right to insert": async () =>
      within(
        server,
        "REVOKE INSERT ON receiver.events FROM receiver",
        "GRANT INSERT ON receiver.events TO receiver",
        "raced",
      ),
  };
  const troubling = (async (): Promise<void> => {
    const names = Object.keys(kinds);
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const kind = names[turn % names.length] ?? "";
      await kinds[kind]?.();
      faults[kind] = (faults[kind] ?? 0) + 1;
      await delay(pauseMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();

  const acknowledged = new Set<string>();
  let copies = 0;
  const deliver = async (body: Buffer): Promise<void> => {
    for (;;) {
      const to = processes[any(3)]?.url ?? "";
      const answer = await post(to, body).catch(() => undefined);
      if (answer?.status === 200) break;
      await delay(20);
    }
    acknowledged.add(idOf(body));
  };
  let left = events;
  const lane = async (): Promise<void> => {
    while (left > 0 || Object.keys(faults).length < Object.keys(kinds).length) {
      left -= 1;
      const body = newBody();
      const times = random() < 0.3 ? 2 : 1;
      copies += times - 1;
      await Promise.all(Array.from({ length: times }, async () => deliver(body)));
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  over.abort();
  await troubling;

  const counted = async (): Promise<Record<string, unknown>> =>
    ask(url, COUNT).catch((error: unknown) => ({ error: String(error) }));
  await until(counted, ({ unfinished }) => unfinished === 0).catch((error: unknown) => {
    const said = processes
      .map((one) => [...one.lines.slice(-6), ...one.errors.slice(-3)].join("\n"))
      .join("\n");
    throw new Error(`${String(error)}\n${JSON.stringify(faults)}\n${said}`);
  });
  const { effects, ...counts } = await counted();
  return { acknowledged: acknowledged.size, copies, faults, effects, ...counts } as Outcome;
}

async function ownServer(): Promise<PostgresServer> {
  const directory = makeDirectory();
  chmodSync(directory, 0o755);
  const server = await createServer(join(directory, "server"), {
    port: await freePort(),
    owner: process.pid,
  });
  onTestFinished(async () => server.stop("immediate").catch(() => undefined));
  return server;
}

/** A database of a role that is no superuser, so that limits and rights count for it. */
async function ownDatabase(server: PostgresServer): Promise<string> {
  await ask(server.url(), "CREATE ROLE receiver LOGIN PASSWORD 'receiver'");
  await ask(server.url(), "CREATE DATABASE raced OWNER receiver");
  const url = new URL(server.url("raced"));
  url.username = "receiver";
  url.password = "receiver";
  return url.href;
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {};
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** For a moment. */
async function within(server: PostgresServer, begin: string, end: string, database?: string): Promise<void> {
  const url = server.url(database);
  await ask(url, begin);
  await ask(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'receiver'");
  await delay(300);
  await ask(url, end);
  await ask(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'receiver'");
}

/** All of the server's processes stand still, and go on. */
async function freeze(server: PostgresServer): Promise<void> {
  const postmaster = await server.pid();
  const children = childrenOf(postmaster);
  const signal = (name: NodeJS.Signals): void => {
    for (const pid of [postmaster, ...children]) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended since.
      }
    }
  };
  signal("SIGSTOP");
  await delay(1_000);
  signal("SIGCONT");
}

async function killHandlers(receiver: ReceiverProcess | undefined): Promise<void> {
  for (const pid of childrenOf(receiver?.child.pid ?? 0)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended since.
    }
  }
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["--ppid", String(pid), "-o", "pid="], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => (line.trim() === "" ? [] : [Number(line)]));
}

const END_HALF_OF_SESSIONS = `
  SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'receiver' AND random() < 0.5`;

const COUNT = `
  SELECT (SELECT count(*)::int FROM receiver.events) AS stored,
    (SELECT json_object_agg(handler, count) FROM (
      SELECT handler, count(*) FROM receiver_handlers.raced GROUP BY handler) AS each) AS effects,
    (SELECT count(*)::int FROM (
      SELECT FROM receiver_handlers.raced GROUP BY handler, event_id HAVING count(*) > 1) AS doubles) AS twice,
    (SELECT count(*)::int FROM receiver.events, unnest(ARRAY['plain', 'ordered', 'slow']) AS name WHERE NOT EXISTS (
      SELECT FROM receiver_handlers.raced
      WHERE handler = name AND event_id = 'evt_' || replace(events.id::text, '-', ''))) AS missing,
    (SELECT count(*)::int FROM receiver_boss.job WHERE state <> 'completed')
      + (SELECT count(*)::int FROM receiver.events WHERE offer <> 'offered') AS unfinished`;
