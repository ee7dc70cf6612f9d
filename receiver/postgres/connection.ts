import { Pool, types, type PoolClient, type QueryResultRow } from "pg";
import type { Refusal, Unavailable } from "../store/port.ts";

const CONNECT_MS = 5_000;
/** The answer to a webhook is due 8 s after the event came. */
const ANSWER_MS = 7_500;
const CONNECTIONS = 10;

/** What the server may do with a transaction of ours that was left alone. SET LOCAL also passes a pooler of transactions. */
const BEGIN = `BEGIN; SET LOCAL statement_timeout = 7000; SET LOCAL lock_timeout = 7000; SET LOCAL idle_in_transaction_session_timeout = 10000`;

export type Query = <Row extends QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

export type Database = {
  schema: string;
  /** One statement, committed by itself. Statements name our schema `receiver`, whatever its name is. */
  run: Query;
  /** A transaction on a connection of its own. */
  transaction: <Result>(work: (query: Query, client: PoolClient) => Promise<Result>) => Promise<Result>;
  /** A connection that LISTENs. Ends with an error event or when it is released. */
  connect: () => Promise<PoolClient>;
  isClosed: () => boolean;
  close: () => Promise<void>;
};

/**
 * Opens a pool, or takes the app's own, which stays the app's to close. Statements are not prepared under names, so that
 * any pooler may stand between.
 */
export function createDatabase({
  url,
  schema,
  pool: given,
}: {
  url: string;
  schema: string;
  pool?: object | undefined;
}): Database {
  if (given && !isPool(given)) throw new Error("`pool` must be a Pool of the package pg.");
  const pool = given ?? ownPool(url);
  let isClosed = false;
  const named = (text: string): string =>
    schema === "receiver" ? text : text.replaceAll(/\breceiver(?=\.|_handlers\b)/g, schema);

  return {
    schema,
    run: async (text, values = []) => rowsOf(pool, named(text), values),
    transaction: async (work) => {
      const client = await pool.connect();
      let isSound = false;
      try {
        await client.query(BEGIN);
        const result = await work(async (text, values = []) => rowsOf(client, named(text), values), client);
        await client.query("COMMIT");
        isSound = true;
        return result;
      } finally {
        // The server rolls back what was not committed when the connection ends.
        client.release(!isSound);
      }
    },
    connect: async () => pool.connect(),
    isClosed: () => isClosed,
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      if (!given) await pool.end();
    },
  };
}

function isPool(given: object): given is Pool {
  return "connect" in given && "query" in given && "totalCount" in given;
}

function ownPool(url: string): Pool {
  const pool = new Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    application_name: "voice-agent-receiver",
  });
  // The error of an idle connection. The next statement opens another one.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

async function rowsOf<Row extends QueryResultRow>(
  on: Pool | PoolClient,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await on.query<Row>({ text, values: [...values], types: parsers(NUMBERS) });
  return rows;
}

/** Our own numbers are all within 2^53. */
const NUMBERS = new Map<number, Parser>([[types.builtins.INT8, Number]]);

export type Parser = (text: string) => unknown;

/** What makes values of the columns' texts: these parsers, and where there is none `pg`'s. */
export function parsers(own: ReadonlyMap<number, Parser>) {
  const getTypeParser = (type: number, format?: "text" | "binary"): Parser => {
    // eslint-disable-next-line typescript/no-unsafe-assignment -- its types say any
    const usual: Parser = types.getTypeParser(type, format ?? "text");
    return own.get(type) ?? usual;
  };
  return { getTypeParser };
}

/** The server's code of an error that is its answer to a statement. */
function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return undefined;
  return String(error.code);
}

/** What an error means to the sender of an event. */
export function refusalOf(error: unknown, isConnected: boolean): Refusal {
  const message = error instanceof Error ? error.message || error.name : String(error);
  const state = sqlState(error);
  const detail = `${message}${state === undefined ? "" : ` (${state})`}${adviceOn(error)}`;
  if (state !== undefined)
    return { ok: false, reason: REASONS.find(([start]) => state.startsWith(start))?.[1] ?? "busy", detail };
  if (isConnected)
    return { ok: false, reason: /timeout/i.test(message) ? "timeout" : "outcome_unknown", detail };
  // The pool's words for: all its connections were in use for too long.
  const isExhausted = message === "timeout exceeded when trying to connect";
  return { ok: false, reason: isExhausted ? "overloaded" : "connection_lost", detail };
}

const REASONS: readonly (readonly [string, Unavailable])[] = [
  ["53100", "full"],
  ["53", "overloaded"],
  ["25006", "read_only"],
  ["57014", "timeout"],
  ["57P03", "connection_lost"],
  ["57P", "outcome_unknown"],
  ["08", "connection_lost"],
  ["58", "io_error"],
  ["XX", "corrupt"],
];

/** What to do if the server refused without saying how to fix it, or did not answer. */
export function adviceOn(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const code = "code" in error ? String(error.code) : "";
  const fix = FIXES.find(([pattern]) => pattern.test(code));
  return fix ? `. ${fix[1]}` : "";
}

const FIXES: readonly (readonly [RegExp, string])[] = [
  [
    /^42501$/,
    "The role needs CREATE on the database for the first start, or to own both schemas: see docs/scaling.md, Rights.",
  ],
  [/^22P05$/, "Name a database in DATABASE_URL whose encoding is UTF8."],
  [/^55P03$/, "Another session holds a lock on its tables: pg_locks and pg_stat_activity name it."],
  [/^(?:28|3D)/, "Fix the user, the password or the database in DATABASE_URL."],
  [/^25006$/, "It is a standby, or was made read-only: name the primary in DATABASE_URL."],
  [/^(?:E[A-Z]+|57P..)$/, "Check that PostgreSQL runs, and that DATABASE_URL names it."],
];

/** A text as PostgreSQL can hold it: without zero bytes and halves of surrogate pairs. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}
