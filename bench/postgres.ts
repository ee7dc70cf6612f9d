import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { PgBoss } from "pg-boss";
import { systemClock as clock } from "../receiver/clock.ts";
import { openServerStore } from "../receiver/postgres/index.ts";
import { freePort } from "../test/helpers/free-port.ts";
import { createServer } from "../tools/postgres-server.ts";
import { eventOf, ROW_TABLE } from "./support/postgres-events.ts";
import { createReport, whole } from "./support/report.ts";
import { inTurns } from "./support/rounds.ts";

/**
 * PostgreSQL: events stored and handled per second, compared with the server and with pg-boss alone. The server syncs, and
 * each measurement has its own database. `npm run bench -- postgres --events 2000 --rounds 1` makes it shorter.
 */
const { values } = parseArgs({
  options: { events: { type: "string", default: "10000" }, rounds: { type: "string", default: "3" } },
});
const events = Number(values.events);
const server = await createServer(mkdtempSync(join(tmpdir(), "bench-postgres-")), {
  port: await freePort(),
  settings: { fsync: "on", shared_buffers: "256MB" },
});
const BATCH = 500;
let databases = 0;

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function newDatabase(): Promise<string> {
  databases += 1;
  const name = `bench_${String(databases)}`;
  await query(server.url(), `CREATE DATABASE ${name}`);
  return server.url(name);
}

/** A database with a handler for every event, and this many events. */
async function filled(backlog: number, key: readonly string[] = []): Promise<string> {
  const databaseUrl = await newDatabase();
  const store = await openServerStore({ databaseUrl, clock, isWorker: true, onFatal: console.error });
  const handler = {
    name: "h",
    types: "*",
    key,
    migrations: [ROW_TABLE],
    maximumAttempts: 9,
    backoffMs: () => 0,
  } as const;
  await store.jobs.begin([handler], AbortSignal.timeout(60_000));
  for (let n = 0; n < backlog; n += BATCH)
    await store.intake.accept(Array.from({ length: BATCH }, (_, index) => eventOf(n + index)));
  await store.close();
  await query(databaseUrl, "ANALYZE");
  return databaseUrl;
}

async function bare(backlog: number): Promise<string> {
  const url = await newDatabase();
  await query(url, ROW_TABLE);
  const boss = await new PgBoss({ connectionString: url, schedule: false, supervise: false }).start();
  await boss.createQueue("h");
  for (let n = 0; n < backlog; n += BATCH)
    await boss.insert(
      "h",
      Array.from({ length: BATCH }, (_, index) => ({ data: eventOf(n + index).envelope as object })),
    );
  await boss.stop({ graceful: false });
  await query(url, "ANALYZE");
  return url;
}

async function tables(): Promise<string> {
  const url = await newDatabase();
  await query(
    url,
    `CREATE TABLE events (id text PRIMARY KEY, type text, at timestamptz, body bytea);
     CREATE TABLE jobs (id text, handler text, state text, due timestamptz, PRIMARY KEY (id, handler))`,
  );
  return url;
}

/** Events per second of this many processes together, from their common start to the last event. */
async function rate(kind: string, url: string, processes = 1): Promise<number> {
  const program = join(import.meta.dirname, "support/postgres-process.ts");
  const words = [kind, url, String(Math.ceil(events / processes))];
  const children = Array.from({ length: processes }, () => fork(program, words));
  await Promise.all(children.map(async (child) => once(child, "message")));
  const startedAtMs = performance.now();
  let done = 0;
  await new Promise<void>((resolve, reject) => {
    for (const child of children) {
      child.on("message", (count) => {
        done += Number(count);
        if (done >= events) resolve();
      });
      child.on("exit", () => done < events && kind !== "ingest" && reject(new Error(`${kind} ended early`)));
      child.send("go");
    }
  });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  for (const child of children) child.kill("SIGKILL");
  return events / seconds;
}

const measured = await inTurns(Number(values.rounds), {
  ingest: async () => rate("ingest", await filled(0)),
  "one INSERT each": async () => rate("insert", await tables()),
  "four ingest": async () => rate("ingest", await filled(0), 4),
  row: async () => rate("row", await filled(events)),
  "row, pg-boss": async () => rate("bare-row", await bare(events)),
  empty: async () => rate("empty", await filled(events)),
  "empty, pg-boss": async () => rate("bare-empty", await bare(events)),
  "four workers": async () => rate("row", await filled(events), 4),
  key: async () => rate("key", await filled(events, ["data.object.phone"])),
});
await server.stop("fast");

const report = createReport();
for (const [name, value] of Object.entries(measured))
  report.line(`${name.padEnd(20)} ${whole(value).padStart(9)} a second`);
report.held("stored, of one INSERT an event", measured.ingest / measured["one INSERT each"], {
  atLeast: 2.5,
});
report.held("handled, a row written, of pg-boss", measured.row / measured["row, pg-boss"], { atLeast: 0.9 });
report.held("handled, empty handler, of pg-boss", measured.empty / measured["empty, pg-boss"], {
  atLeast: 0.9,
});
report.held("stored, four processes, of one", measured["four ingest"] / measured.ingest, { atLeast: 2 });
report.held("handled, four workers, of one", measured["four workers"] / measured.row, { atLeast: 1.5 });
report.held("handled, with 1,000 keys, of without", measured.key / measured.empty, { atLeast: 0.5 });
report.conclude();
