import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { userInfo } from "node:os";
import { Client } from "pg";
import { inject } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { openServerStore } from "../../../receiver/postgres/index.ts";
import { sharedProgram } from "../../helpers/run/shared-program.ts";

const TEMPLATE = "receiver_template";

/** Whether no server can be started; prints the reason. */
export function noServer(): boolean {
  const problem = whyNoServer();
  if (problem !== undefined) process.stderr.write(`Tests on PostgreSQL are skipped: ${problem}\n`);
  return problem !== undefined;
}

function whyNoServer(): string | undefined {
  if ((process.env["TEST_DATABASE_URL"] ?? "") !== "") return undefined;
  // A fork has no server of its own.
  if (typeof inject("sharedPrograms") !== "string") return "set TEST_DATABASE_URL=postgres://… to a server.";
  const isClosed = process.platform === "linux" && (statSync("/dev/null").mode & 0o006) !== 0o006;
  // Root's server runs as nobody.
  if (isClosed && userInfo().uid === 0)
    return "only root may use /dev/null here, and PostgreSQL does not run as root: chmod 666 /dev/null";
  return undefined;
}

/** The address of a server that takes any number of databases: TEST_DATABASE_URL, or one for all test files of a run. */
export async function sharedServer(): Promise<string> {
  const given = process.env["TEST_DATABASE_URL"];
  return given !== undefined && given !== "" ? given : sharedProgram("postgres");
}

/** A new database with the receiver's tables, as `postgres://…`. It ends with the server. */
export async function newDatabase(template = true): Promise<string> {
  const server = await sharedServer();
  if (template) await (made ??= makeTemplate(server));
  const name = `test_${randomBytes(8).toString("hex")}`;
  // Copy the files: the other strategy writes each block to the log, which takes three times as long.
  await query(
    server,
    `CREATE DATABASE ${name} ${template ? `TEMPLATE ${TEMPLATE} STRATEGY = FILE_COPY` : ""}`,
  );
  return databaseUrl(server, name);
}

/** Runs SQL as the owner of the server; returns the rows of a single statement. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

let made: Promise<void> | undefined;

/** A template, because copying a database is faster than creating its tables. */
async function makeTemplate(server: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock(4711)");
    const { rowCount } = await client.query(`SELECT FROM pg_database WHERE datname = '${TEMPLATE}'`);
    if (rowCount !== 0) return;
    await client.query(`CREATE DATABASE ${TEMPLATE}_new`);
    const store = await openServerStore({
      databaseUrl: databaseUrl(server, `${TEMPLATE}_new`),
      clock: systemClock,
      isWorker: false,
      onFatal: () => undefined,
    });
    await store.close();
    await client.query(`ALTER DATABASE ${TEMPLATE}_new RENAME TO ${TEMPLATE}`);
  } finally {
    await client.end();
  }
}
