import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { systemClock } from "../../../receiver/clock.ts";
import { openPostgresEngine } from "../../../receiver/engines/postgres/index.ts";
import { sharedProgram } from "../run/shared-program.ts";

/** The address of a server that takes any number of databases: TEST_DATABASE_URL, or one for all test files of a run. */
export async function sharedServer(): Promise<string> {
  const given = process.env["TEST_DATABASE_URL"];
  return given !== undefined && given !== "" ? given : sharedProgram("postgres");
}

/** A database of a test's own, with the receiver's tables in it, and how to be rid of it. */
export async function newDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const server = await sharedServer();
  await template(server);
  const name = `test_${randomBytes(8).toString("hex")}`;
  // By its files: written to the log block by block, it costs the server three times as much.
  await administer(server, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY = FILE_COPY`);
  return {
    url: databaseUrl(server, name),
    drop: async () => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** Runs one statement as the owner of the server. */
export async function administer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

const TEMPLATE = "receiver_template";

let made: Promise<void> | undefined;

/** Copying a database is quicker than migrating one. */
async function template(server: string): Promise<void> {
  made ??= makeTemplate(server);
  return made;
}

async function makeTemplate(server: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock(4711)");
    const { rowCount } = await client.query(`SELECT FROM pg_database WHERE datname = '${TEMPLATE}'`);
    if (rowCount === 0) {
      await client.query(`CREATE DATABASE ${TEMPLATE}_new`);
      const url = databaseUrl(server, `${TEMPLATE}_new`);
      const engine = await openPostgresEngine({ databaseUrl: url, clock: systemClock });
      await engine.close();
      await client.query(`ALTER DATABASE ${TEMPLATE}_new RENAME TO ${TEMPLATE}`);
    }
  } finally {
    await client.end();
  }
}
