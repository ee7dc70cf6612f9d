import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { createServer } from "../tools/postgres-server.ts";
import { BODY_BYTES, CONCURRENCY, CONNECTIONS, EVENTS } from "./support/postgres-events.ts";
import { backlog, boss, handle } from "./support/postgres-handling.ts";
import { acknowledge, insertOneRow, insertSameRows } from "./support/postgres-inserts.ts";
import { idle } from "./support/postgres-idle.ts";
import { together } from "./support/postgres-processes.ts";
import { createReport, whole } from "./support/report.ts";
import { inTurns } from "./support/rounds.ts";

/**
 * The PostgreSQL engine beside what it is made of: acknowledgements beside one INSERT an event, and handled events
 * beside the jobs of bare pg-boss, with the same payloads; then several processes of each role. A server
 * of its own, which syncs. Run it with `npm run bench -- postgres`, and parts of it with `--only WORDS` of their titles,
 * none of which takes three minutes.
 */
const { only: ONLY, rounds } = parseArgs({
  options: { only: { type: "string", default: "" }, rounds: { type: "string", default: "3" } },
}).values;
const ROUNDS = Number(rounds);
const BARE = "pg-boss, tuned: batches of 500";

const directory = mkdtempSync(join(tmpdir(), "bench-postgres-"));
const server = await createServer(directory, {
  port: 20_000 + (process.pid % 20_000),
  settings: { fsync: "on", shared_buffers: "256MB", max_wal_size: "4GB" },
});
const report = createReport();

try {
  report.line(`${whole(EVENTS)} events of ${whole(BODY_BYTES)} bytes, medians of ${String(ROUNDS)} rounds`);
  await compare(
    `acknowledged a second, ${String(CONCURRENCY)} at a time`,
    {
      "engine, batches as they come": acknowledge,
      "one INSERT an event, as the engine one after the other": async (url) => insertSameRows(url, 1),
      "one INSERT an event, over ten connections": async (url) => insertSameRows(url, CONNECTIONS),
      "one INSERT of one row in one table, over ten": async (url) => insertOneRow(url, CONNECTIONS),
    },
    [
      { beside: "one INSERT an event, as the engine one after the other", atLeast: 5 },
      { beside: "one INSERT an event, over ten connections", atLeast: 3 },
    ],
  );
  for (const writes of [false, true]) {
    await compare(
      `handled a second of ${whole(backlog(writes))}, by a handler that ${writes ? "writes a row" : "does nothing"}`,
      {
        engine: async (url) => handle(url, writes),
        [BARE]: async (url) => boss(url, { writes, atomically: writes }),
        "the same, done in batches afterwards": async (url) => boss(url, { writes, atomically: false }),
      },
      [{ beside: BARE, atLeast: 0.8 }],
    );
  }
  for (const role of ["ingest", "worker"] as const) {
    await compare(
      `events a second by processes of role ${role}`,
      {
        "four processes": async (url) => together(url, role, 4),
        "two processes": async (url) => together(url, role, 2),
        "one process": async (url) => together(url, role, 1),
      },
      [{ beside: "one process", atLeast: 1 }],
    );
  }
  if ("at rest".includes(ONLY)) {
    await administer("CREATE DATABASE idle");
    const { transactions, bytes, connections } = await idle(server.url("idle"));
    report.line("");
    report.line("three workers at rest, each");
    report.line(
      `  ${transactions.toFixed(2)} transactions a second, ${whole(bytes)} bytes of log a second, ${connections.toFixed(1)} connections`,
    );
    report.held("  transactions a second", transactions, { atMost: 5 });
  }
  report.conclude();
} finally {
  await server.stop("immediate");
  rmSync(directory, { recursive: true, force: true });
}

/** In turns, each in a database of its own; the first is ours, and held to its part of another. */
async function compare<Name extends string>(
  title: string,
  contenders: Record<Name, (url: string) => Promise<number>>,
  held: readonly { beside: NoInfer<Name>; atLeast: number }[],
): Promise<void> {
  if (!title.includes(ONLY)) return;
  const measured = Object.entries<(url: string) => Promise<number>>(contenders).map(
    ([name, measure]) => [name, async () => inNewDatabase(measure)] as const,
  );
  const rates: Record<string, number> = await inTurns(ROUNDS, Object.fromEntries(measured));
  report.line("");
  report.line(title);
  const ours = Object.values(rates)[0] ?? Number.NaN;
  for (const [name, rate] of Object.entries(rates)) {
    report.line(`  ${name.padEnd(56)} ${whole(rate).padStart(8)}   ours is ${(ours / rate).toFixed(2)} ×`);
  }
  for (const { beside, atLeast } of held) {
    report.held(`  beside ${beside}`, ours / (rates[beside] ?? Number.NaN), { atLeast });
  }
}

async function inNewDatabase(measure: (url: string) => Promise<number>): Promise<number> {
  const database = `bench_${randomBytes(4).toString("hex")}`;
  await administer(`CREATE DATABASE ${database}`);
  try {
    return await measure(server.url(database));
  } finally {
    await administer(`DROP DATABASE ${database} WITH (FORCE)`);
  }
}

async function administer(sql: string): Promise<void> {
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  await client.query(sql);
  await client.end();
}
