import { Pool, types, type PoolClient, type QueryResultRow } from "pg";
import type { Refusal, Unavailable } from "../store/port.ts";

const CONNECT_MS = 5_000;
/** A webhook must be answered within 8 s of its arrival. */
const ANSWER_MS = 7_500;
const CONNECTIONS = 10;

/**
 * Limits what the server does with an abandoned transaction of ours, and says where handlers' SQL finds tables: in their own
 * schema, then in `public`, which belongs to the app. SET LOCAL also works through a transaction pooler.
 */
const BEGIN = `BEGIN; SET LOCAL statement_timeout = 7000; SET LOCAL lock_timeout = 7000;
  SET LOCAL idle_in_transaction_session_timeout = 10000; SET LOCAL search_path = receiver_handlers, "$user", public;`;
/** For a transaction that waits its turn to create something. */
export const PATIENTLY = `SET LOCAL lock_timeout = '120s'; SET LOCAL statement_timeout = 0`;

export type Query = <Row extends QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

export type Database = {
  schema: string;
  /** One statement in a transaction of its own. Statements call our schema `receiver`, whatever its real name is. */
  run: Query;
  /**
   * A transaction on its own connection. BEGIN and `first` are sent as one message, as are `last` and COMMIT; `work` gets the
   * rows of `first`.
   */
  transaction: <Result>(
    work: (query: Query, client: PoolClient, rows: QueryResultRow[]) => Promise<Result>,
    around?: { first?: string; last?: string },
  ) => Promise<Result>;
  /** A connection that LISTENs. Ends with an error event or when it is released. */
  connect: () => Promise<PoolClient>;
  isClosed: () => boolean;
  close: () => Promise<void>;
};

/** Opens a pool, or uses the app's own, which the app must close. Statements have no names, so that any pooler works. */
export function createDatabase(url: string, schema: string, given?: object): Database {
  if (given && !isPool(given)) throw new Error("`pool` must be a Pool of the package pg.");
  const pool = given ?? ownPool(url);
  let isClosed = false;
  const queryOn =
    (on: Pool | PoolClient): Query =>
    async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) => {
      const named = schema === "receiver" ? text : text.replaceAll(/\breceiver(?=\.|_handlers\b)/g, schema);
      const result = await on.query<Row>({ text: named, values: values.map(storable), types: VALUES });
      // Of several statements, those of the last.
      return [result].flat().at(-1)?.rows ?? [];
    };

  const connect = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    // A lost connection also fails its statement; an unhandled `error` event would end the process.
    if (client.listenerCount("error") === 0) client.on("error", () => undefined);
    return client;
  };

  return {
    schema,
    run: queryOn(pool),
    transaction: async (work, { first = "", last = "" } = {}) => {
      const client = await connect();
      let isSound = false;
      try {
        const query = queryOn(client);
        const found = await query(BEGIN + first);
        const result = await work(query, client, found);
        await query(`${last} COMMIT`);
        isSound = true;
        return result;
      } finally {
        // The server rolls back open transactions when the connection ends.
        client.release(!isSound);
      }
    },
    connect,
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
  return pool.on("error", () => undefined);
}

/** Runs `work` once for all calls made while it was busy; it returns a result for each. */
export function together<Asked, Result>(work: (all: readonly Asked[]) => Promise<Result[]>) {
  let next: { all: Asked[]; results: Promise<Result[]> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return async (asked: Asked): Promise<Result | undefined> => {
    if (!next) {
      const all: Asked[] = [];
      const results = last.then(async () => {
        next = undefined;
        return work(all);
      });
      last = results.catch(() => undefined);
      next = { all, results };
    }
    const place = next.all.push(asked) - 1;
    return (await next.results)[place];
  };
}

const { builtins } = types;
/** Returns the values that SQLite would: numbers, bigint, text, bytes, null. `db.client` returns those of `pg`. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [builtins.INT8, (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))],
  [builtins.BOOL, (text) => (text === "t" ? 1 : 0)],
  [builtins.JSON, (text) => text],
  [builtins.JSONB, (text) => JSON.stringify(JSON.parse(text))],
  [builtins.TIMESTAMPTZ, (text) => new Date(text).toISOString()],
  [builtins.TIMESTAMP, (text) => new Date(`${text}Z`).toISOString()],
  [builtins.DATE, (text) => text],
]);
export const VALUES = {
  getTypeParser: (type: number, format?: "text" | "binary"): ((text: string) => unknown) => {
    // eslint-disable-next-line typescript/no-unsafe-assignment -- its types say any
    const usual: (text: string) => unknown = types.getTypeParser(type, format ?? "text");
    return PARSERS.get(type) ?? usual;
  },
};

/** The refusal for an error. If it has no code of the server's, the transaction may have been committed. */
export function refusalOf(error: unknown): Refusal {
  const detail = described(error);
  const [, , reason] = KNOWN.find(([pattern]) => pattern.test(codeOf(error))) ?? [];
  const isOfServer = error instanceof Error && "severity" in error;
  return { ok: false, reason: reason ?? (isOfServer ? "busy" : "outcome_unknown"), detail };
}

/** An error with its code, and with the fix if its message does not name one. */
export function described(error: unknown): string {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message || error.name : String(error);
  const fix = KNOWN.find(([pattern]) => pattern.test(code))?.[1] ?? "";
  return `${message}${message.includes(code) ? "" : ` (${code})`}${fix && `. ${fix}`}`;
}

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

const IS_AWAY = "Check that PostgreSQL is running and that its address is right.";
const HAS_NO_RIGHT =
  "The role needs CREATE on the database for the first start, or to own both schemas: see docs/scaling.md, Rights.";

/** Error codes of the server and of sockets. */
const KNOWN: readonly (readonly [code: RegExp, fix: string, reason?: Unavailable])[] = [
  [/^E(?:CONNREFUSED|NOTFOUND|HOSTUNREACH)$/, IS_AWAY, "connection_lost"],
  [/^E[A-Z]+$/, IS_AWAY],
  [/^42501$/, HAS_NO_RIGHT],
  [/^25006$/, "It is a standby or read-only: name the primary instead.", "read_only"],
  [/^22P05$/, "Use a database whose encoding is UTF8."],
  [/^53100$/, "", "full"],
  [/^53/, "", "overloaded"],
  [/^57014$/, "", "timeout"],
  [/^57P03$|^08/, IS_AWAY, "connection_lost"],
  [/^57P/, IS_AWAY, "outcome_unknown"],
  [/^58/, "", "io_error"],
  [/^XX/, "", "corrupt"],
];

/** A text as PostgreSQL can store it: without zero bytes and halves of surrogate pairs. */
export function storable<Value>(value: Value): Value | string {
  return typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\uFFFD") : value;
}

/** Rows for `json_to_recordset`, with storable texts. JSON escapes what is not storable, and each backslash. */
export function json(rows: unknown): string {
  const escaped = /\\\\|\\u(?:0000|d[89a-f]..)/g;
  return JSON.stringify(rows).replaceAll(escaped, (found) => (found === "\\\\" ? found : "\uFFFD"));
}
