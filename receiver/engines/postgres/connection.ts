import { hash } from "node:crypto";
import { Pool, TypeOverrides, types, type ClientBase, type PoolClient, type QueryConfig } from "pg";
import type { Refusal } from "../../engine.ts";

export type { Pool, PoolClient as Client } from "pg";

const IDLE_TIMEOUT_MS = 30_000;

/**
 * The server's own limits, against what a lost client leaves behind, and where handlers' tables are. The same for all our
 * connections, since a pooler in between may hand the session of one to another. Plans avoid reading a table from end to
 * end: one that was made while the table was small would go on doing that when it is large. Nor are they compiled: where
 * it can't be avoided, up to PostgreSQL 17 a plan has the price at which that is done, for seconds each time.
 */
const sessionOf = (schema: string): string => `
  SET statement_timeout = '30s';
  SET lock_timeout = '10s';
  SET idle_in_transaction_session_timeout = '15s';
  SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('enable_seqscan', 'jit');
  SET search_path = ${searchPath(schema)}`;

/** Tables that handlers make are in a schema of their own; those that an earlier version made may be anywhere. */
export const searchPath = (schema: string): string => `"${schema}_handlers", "$user", public`;

export type PoolOptions = {
  url: string;
  schema: string;
  /** What `pg_stat_activity` shows. */
  purpose: string;
  connections: number;
  /** How long to wait for a connection, whether it is opened or becomes free. */
  connectTimeoutMs: number;
  /** Whether statements are sent without waiting for the answers to those before them. */
  pipeline?: boolean;
  /** How long to wait for a statement's answer; then its connection is given up. */
  answerTimeoutMs?: number;
};

/** Opens no connection yet. */
export function createPool(options: PoolOptions): Pool {
  const parsers = new TypeOverrides();
  // Counts and sums are numbers, as on SQLite, as long as a number can hold them.
  parsers.setTypeParser(types.builtins.INT8, safeInteger);
  const pool = new Pool({
    connectionString: options.url,
    max: options.connections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    pipeline: options.pipeline === true,
    // The pool waits for what this answers, though its types don't say so.
    onConnect: (async (client: ClientBase) => client.query(sessionOf(options.schema))) as (
      client: ClientBase,
    ) => void,
    application_name: `voice-agent-receiver ${options.purpose}`,
    types: parsers,
    ...(options.answerTimeoutMs === undefined ? {} : { query_timeout: options.answerTimeoutMs }),
  });
  // A statement that waits fails by itself, and an idle connection that broke is replaced when one is needed. An `error`
  // event that nobody listens to would end the process.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/** Makes a statement that PostgreSQL parses and plans once a session, where sessions are our own. */
export type Prepare = (text: string, values?: unknown[]) => QueryConfig<unknown[]>;

/** Answers a statement with the names that the schemas `receiver`, `receiver_handlers` and `boss` have in this database. */
export const naming =
  (schema: string): ((text: string) => string) =>
  (text) =>
    text
      .replaceAll(/\breceiver(_handlers)?(?=[.;]|$)/g, `"${schema}$1"`)
      .replaceAll(/\bboss\./g, `"${schema}_boss".`);

/**
 * Statements are prepared where sessions are our own. A pooler in between gives every transaction to another, which knows
 * none of the statements prepared in the last. Then the session's number is another than the one that the server told us
 * when we connected.
 */
export async function preparing(pool: Pool, schema: string): Promise<Prepare> {
  const areOurs = await withClient(pool, async (client) => {
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return "processID" in client && client.processID === rows[0]?.pid;
  });
  const named = naming(schema);
  const statements = new Map<string, { name?: string; text: string }>();
  return (text, values = []) => {
    let statement = statements.get(text);
    if (!statement) {
      // Made from the text: so a name means the same statement in every session, whosever it is.
      const name = `receiver_${hash("sha256", text).slice(0, 16)}`;
      statement = { text: named(text), ...(areOurs ? { name } : {}) };
      statements.set(text, statement);
    }
    return { ...statement, values };
  };
}

/** Runs one statement, named as ours are, and answers its rows. */
export type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

export type Database = ReturnType<typeof createDatabase>;

/** Statements on any connection of a pool, and transactions that aren't synced, on a pool that is pipelined. */
export function createDatabase(pool: Pool, prepare: Prepare) {
  const run: Query = async <Row extends object>(text: string, values: unknown[] = []) =>
    retryingConflicts(async () => (await pool.query<Row>(prepare(text, values))).rows);
  const transaction = async <Result>(
    work: (client: PoolClient, query: Query) => Promise<Result>,
  ): Promise<Result> =>
    withRetries(pool, async (client) => {
      // Nothing is sent along: where this is refused, as by a cancel, each statement would be committed by itself.
      await client.query("BEGIN; SET LOCAL synchronous_commit = off");
      const query: Query = async <Row extends object>(text: string, values?: unknown[]) =>
        (await client.query<Row>(prepare(text, values))).rows;
      const result = await work(client, query);
      await client.query("COMMIT");
      return result;
    });
  return { run, transaction };
}

/** Runs `work` on a connection of its own. One on which anything failed is not used again. */
export async function withClient<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let sound = false;
  try {
    const result = await work(client);
    sound = client.getTransactionStatus() === "I";
    return result;
  } finally {
    client.release(!sound);
  }
}

/** Whether an error is the database's answer to a statement: then the connection works, and the statement did nothing. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return "severity" in error ? error.code : undefined;
}

/** A deadlock, or two transactions that can't be put one after the other: the server ended one of them, which tries again. */
const CONFLICTS = new Set(["40P01", "40001"]);
const CONFLICT_TRIES = 3;

/** Runs `work` again when the database undid it in favour of another transaction. */
export async function retryingConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      if (tried === CONFLICT_TRIES || !CONFLICTS.has(sqlState(error) ?? "")) throw error;
    }
  }
}

/** As `withClient`; runs `work` again when the database undid it in favour of another transaction. */
export const withRetries: typeof withClient = async (pool, work) =>
  retryingConflicts(async () => withClient(pool, work));

/** What an error means for a statement that had been sent, or had not where there was no connection. */
export function refusalOf(error: unknown, connected: boolean): Refusal {
  const detail = error instanceof Error ? error.message || error.name : String(error);
  const state = sqlState(error);
  if (state !== undefined)
    return { ok: false, reason: reasonOf(state), detail: `${detail} (${state})${adviceOn(error)}` };
  if (connected)
    return { ok: false, reason: /timeout/i.test(detail) ? "timeout" : "outcome_unknown", detail };
  // The pool's words for: all its connections were in use for too long.
  const exhausted = detail === "timeout exceeded when trying to connect";
  return { ok: false, reason: exhausted ? "overloaded" : "connection_lost", detail };
}

/** What to do where a server refused without saying how to mend it, or didn't answer. */
export function adviceOn(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const code = "code" in error ? String(error.code) : "";
  if (code === "42501") return ". Let the role's owner grant it what docs/scaling.md lists.";
  if (code === "22P05") return ". Let DATABASE_URL name a database whose encoding is UTF8.";
  if (code === "55P03")
    return ". Somebody holds a lock on its tables: pg_locks and pg_stat_activity say who.";
  if (/^(28|3D)/.test(code)) return ". Mend the user, the password or the database in DATABASE_URL.";
  const isAway = /^(?:E[A-Z]+|57P..)$/.test(code) || /(?<!statement )timeout|terminated/i.test(error.message);
  return isAway ? ". Look whether PostgreSQL runs, and DATABASE_URL names it." : "";
}

function reasonOf(state: string): Refusal["reason"] {
  if (state === "53100") return "full";
  if (state.startsWith("53")) return "overloaded";
  // A statement that changes something, on a server that is a standby or was made read-only.
  if (state === "25006") return "read_only";
  if (state === "57014") return "timeout";
  // The server shuts down, or one of its processes crashed.
  if (state === "57P01" || state === "57P02") return "outcome_unknown";
  if (state === "57P03" || state.startsWith("08")) return "connection_lost";
  if (state.startsWith("58")) return "io_error";
  return state.startsWith("XX") ? "corrupt" : "busy";
}

function safeInteger(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
