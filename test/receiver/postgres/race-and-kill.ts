import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client } from "pg";
import { onTestFinished } from "vitest";
import { createServer, type PostgresServer } from "../../../tools/postgres-server.ts";
import { freePort } from "../../helpers/free-port.ts";
import { idOf, newBody, post } from "../helpers/events.ts";
import { startProcess, type ReceiverProcess } from "../helpers/process.ts";
import { makeDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { makeVersion2, storing } from "./version-2.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** What happens meanwhile, and how often it did. */
export type Faults = Record<string, number>;

/** Of one inbox; all but the first three are of its database. */
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

/** The processes: three that take events, three that handle them, and one with an inbox of its own in the same database. */
const ROLES = ["ingest", "ingest", "ingest", "worker", "worker", "worker", "all"] as const;
const OTHER = 6;
/** Fewer than the version before numbers from. */
const STORED_BEFORE = 50;

/**
 * Starts the processes on a server of their own, and on tables of a version long before, with events in them. Brings `events` and more to any of them, until each fault has come about,
 * 30 % of them more than once, while processes are killed, sessions ended, and the server restarted, frozen and starved;
 * then waits until all is handled, and counts: the inbox that is shared, and the other. With `before`, a folder with the
 * version before of all this, each process is of that version until it is killed first: a rolling deploy.
 */
export async function raceAndKill(options: {
  events: number;
  pauseMs: number;
  random: () => number;
  before?: string | undefined;
}): Promise<Outcome[]> {
  const { events, pauseMs, random } = options;
  const server = await ownServer();
  const url = await ownDatabase(server);
  // As a receiver left it that knew nothing of jobs yet.
  const before = Array.from({ length: STORED_BEFORE }, () => newBody());
  await makeVersion2(url, before.map((body, at) => storing(body, at + 1)).join(""));
  const start = async (at: number, tree = ROOT): Promise<ReceiverProcess> =>
    startProcess({
      entry: join(tree, "test/receiver/helpers/receiver-with-handlers.ts"),
      environment: {
        DATABASE_URL: url,
        HANDLERS_MODULE: pathToFileURL(join(tree, "test/receiver/postgres/race-handlers.ts")).href,
        WORKER_CONCURRENCY: "16",
        LOG_LEVEL: "info",
        RECEIVER_ROLE: ROLES[at] ?? "worker",
        ...(at === OTHER ? { DATABASE_SCHEMA: "other" } : {}),
      },
    });
  const processes = await Promise.all(ROLES.map(async (_, at) => start(at, options.before)));
  const any = (count: number): number => Math.floor(random() * count);

  const faults: Faults = {};
  const over = new AbortController();
  const restartProcess = async (at: number): Promise<void> => {
    await processes[at]?.kill();
    // A server that is away meanwhile is tried again.
    for (;;) {
      const started = await start(at).catch(() => undefined);
      if (started) processes[at] = started;
      if (started) return;
      await delay(200);
    }
  };
  /** Goes on until a process tells that it was refused with this error, or nobody brings anything any more. */
  const refusing = async (code: string, begin: string, end = "SELECT 1"): Promise<void> => {
    const before = processes.map(({ lines }) => lines.length);
    const isTold = (): boolean =>
      processes.some(({ lines }, at) => lines.slice(before[at]).some((line) => line.includes(`(${code})`)));
    await until(
      async () => {
        await ask(server.url("raced"), begin);
        await delay(300);
        return over.signal.aborted || isTold();
      },
      (is) => is,
    );
    await ask(server.url("raced"), end);
  };
  const kinds: Record<string, () => Promise<void>> = {
    "kill -9 of an ingest process": async () => restartProcess(any(3)),
    "kill -9 of a worker process": async () => restartProcess(3 + any(3)),
    "kill -9 of a process of handlers": async () =>
      void (await until(
        () => killHandlers(processes[3 + any(3)]),
        (killed) => killed > 0,
      )),
    "kill -9 of the other inbox's process": async () => restartProcess(OTHER),
    "sessions ended": async () =>
      void (await until(
        async () => ask(server.url(), `${END_SESSIONS} AND random() < 0.5`),
        ({ ended }) => Number(ended) > 0,
      )),
    "server restarted": async () => server.restart("fast"),
    "server crashed": async () => server.restart("immediate"),
    "server frozen": async () => freeze(server),
    "connection limit": async () =>
      refusing(
        "53300",
        `ALTER DATABASE raced CONNECTION LIMIT 4; ${END_SESSIONS}`,
        "ALTER DATABASE raced CONNECTION LIMIT -1",
      ),
    // A limit of the role's would not do: our sessions set their own.
    "statements timed out": async () => refusing("57014", CANCEL_STATEMENTS),
    "disk full": async () => refusing("53100", FILL_DISK, noRoom("RETURN NEW")),
    "a newer schema": async () => {
      const byOne = (sign: string): string =>
        `UPDATE receiver.migrations SET applied = applied ${sign} 1 WHERE name = 'receiver'`;
      await ask(server.url("raced"), byOne("+"));
      const said = await start(any(3)).then(() => "It has started.", String);
      await ask(server.url("raced"), byOne("-"));
      if (!said.includes("was made by a newer receiver")) throw new Error(said);
    },
    "no right to insert": async () =>
      refusing(
        "42501",
        "REVOKE INSERT ON receiver.events FROM receiver",
        "GRANT INSERT ON receiver.events TO receiver",
      ),
  };
  const trouble = async (): Promise<void> => {
    const names = Object.keys(kinds);
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const kind = names[turn % names.length] ?? "";
      await kinds[kind]?.();
      faults[kind] = (faults[kind] ?? 0) + 1;
      await delay(pauseMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const troubling = trouble().catch((error: unknown) => {
    over.abort();
    throw error;
  });
  troubling.catch(() => undefined);

  const inboxes = ["receiver", "other"].map((schema) => ({
    schema,
    acknowledged: new Set(schema === "receiver" ? before.map(idOf) : []),
    copies: 0,
  }));
  let left = events;
  const lane = async (): Promise<void> => {
    while ((left > 0 || Object.keys(faults).length < Object.keys(kinds).length) && !over.signal.aborted) {
      left -= 1;
      const isOther = random() < 0.1;
      const inbox = inboxes[Number(isOther)]!;
      const body = newBody();
      const times = random() < 0.3 ? 2 : 1;
      inbox.copies += times - 1;
      await Promise.all(
        Array.from({ length: times }, async () => deliver(body, () => processes[isOther ? OTHER : any(3)])),
      );
      inbox.acknowledged.add(idOf(body));
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  over.abort();
  await troubling;

  return Promise.all(
    inboxes.map(async ({ schema, acknowledged, copies }) => {
      const counted = async (): Promise<Record<string, unknown>> =>
        ask(url, countOf(schema)).catch((error: unknown) => ({ error: String(error) }));
      await until(counted, ({ unfinished }) => unfinished === 0).catch((error: unknown) => {
        const said = processes
          .map((one) => [...one.lines.slice(-6), ...one.errors.slice(-3)].join("\n"))
          .join("\n");
        throw new Error(`${String(error)}\n${JSON.stringify(faults)}\n${said}`);
      });
      return { acknowledged: acknowledged.size, copies, faults, ...(await counted()) } as Outcome;
    }),
  );
}

/** As the service does it, though sooner: again, until it is acknowledged. */
async function deliver(body: Buffer, to: () => ReceiverProcess | undefined): Promise<void> {
  for (;;) {
    const answer = await post(to()?.url ?? "", body).catch(() => undefined);
    if (answer?.status === 200) return;
    await delay(20);
  }
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
    // Of several statements there are several.
    const results = [await client.query<Record<string, unknown>>(sql)].flat();
    return results.at(-1)?.rows[0] ?? {};
  } finally {
    await client.end().catch(() => undefined);
  }
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

/** Answers how many there were. */
function killHandlers(receiver: ReceiverProcess | undefined): number {
  const pids = childrenOf(receiver?.child.pid ?? 0);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended since.
    }
  }
  return pids.length;
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["--ppid", String(pid), "-o", "pid="], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => (line.trim() === "" ? [] : [Number(line)]));
}

const END_SESSIONS = `
  SELECT count(pg_terminate_backend(pid)) AS ended FROM pg_stat_activity WHERE usename = 'receiver'`;

/** As their time-out does, and with the same error: whatever runs, for a while. */
const CANCEL_STATEMENTS = `
  DO $$ BEGIN FOR round IN 1..100 LOOP
    PERFORM pg_stat_clear_snapshot(), pg_sleep(0.003);
    PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'receiver' AND state = 'active';
  END LOOP; END $$`;

/** Replaced, and not dropped with its triggers: that would wait in a circle with who reads both tables. */
const noRoom = (does: string): string => `
  CREATE OR REPLACE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${does}; END $$`;
/** What a server without room says, wherever something is written. */
const FILL_DISK = `
  ${noRoom("RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'")};
  CREATE OR REPLACE TRIGGER no_room BEFORE INSERT ON receiver.events FOR EACH ROW EXECUTE FUNCTION public.no_room();
  CREATE OR REPLACE TRIGGER no_room BEFORE INSERT OR UPDATE ON receiver_boss.job_common FOR EACH ROW EXECUTE FUNCTION public.no_room()`;

const countOf = (schema: string): string => `
  SELECT (SELECT count(*)::int FROM ${schema}.events) AS stored,
    (SELECT json_object_agg(handler, count) FROM (
      SELECT handler, count(*) FROM ${schema}_handlers.raced GROUP BY handler) AS each) AS effects,
    (SELECT count(*)::int FROM (
      SELECT FROM ${schema}_handlers.raced GROUP BY handler, event_id HAVING count(*) > 1) AS doubles) AS twice,
    (SELECT count(*)::int FROM ${schema}.events, unnest(ARRAY['plain', 'ordered', 'slow']) AS name WHERE NOT EXISTS (
      SELECT FROM ${schema}_handlers.raced
      WHERE handler = name AND event_id = 'evt_' || replace(events.id::text, '-', ''))) AS missing,
    (SELECT count(*)::int FROM ${schema}_boss.job WHERE state <> 'completed')
      + (SELECT count(*)::int FROM ${schema}.events WHERE offer <> 'offered') AS unfinished`;
