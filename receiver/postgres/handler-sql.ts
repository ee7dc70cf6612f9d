import { types, type PoolClient, type QueryConfig, type QueryResultRow } from "pg";
import { within, type Clock } from "../clock.ts";
import { bound, refuseTransactionControl } from "../store/handler-sql.ts";
import type { HandlerDatabase } from "../store/port.ts";
import { parsers, storable, type Parser, type Query } from "./connection.ts";

/** Handlers' tables are in a schema of their own; `public` is the app's. */
const SCHEMAS = `receiver_handlers, "$user", public`;
export const SEARCH_PATH = `SET LOCAL search_path = ${SCHEMAS}`;

/** How long a handler may hold a transaction open. */
const LONGEST_MS = 5_000;

const { builtins } = types;

/** What comes out is what SQLite would give: numbers, bigint, text, bytes, null. `db.client` gives what `pg` gives. */
const PARSERS = new Map<number, Parser>([
  [builtins.INT8, (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))],
  [builtins.BOOL, (text) => (text === "t" ? 1 : 0)],
  [builtins.JSON, (text) => text],
  [builtins.JSONB, (text) => JSON.stringify(JSON.parse(text))],
  [builtins.TIMESTAMPTZ, (text) => new Date(text).toISOString()],
  [builtins.TIMESTAMP, (text) => new Date(`${text}Z`).toISOString()],
  [builtins.DATE, (text) => text],
]);

/**
 * Has `work` use the transaction that is open on `client`. Rejects if one of its statements failed, though it caught that,
 * if it takes over 5 s, and if it ended the transaction.
 */
export async function useTransaction<Result>(
  { query: own, client, clock }: { query: Query; client: PoolClient; clock: Clock },
  work: (db: HandlerDatabase) => Promise<Result>,
): Promise<Result> {
  await own(SEARCH_PATH);
  let failure: { error: unknown } | undefined;
  let isOver = false;

  async function send<Row extends QueryResultRow>(statement: QueryConfig<unknown[]>) {
    if (isOver) throw new Error("This transaction has ended: await every query inside atomically().");
    if (failure) throw failure.error;
    try {
      refuseTransactionControl(statement.text);
      // Otherwise a text without values could be several statements.
      const extended = { ...statement, queryMode: "extended" };
      return await client.query<Row>(extended);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  }

  const query: HandlerDatabase["query"] = async (text, parameters = []) => {
    const values = parameters.map((value, index) => {
      const given = bound(value, index + 1);
      return typeof given === "string" ? storable(given) : given;
    });
    return (await send<Record<string, unknown>>({ text, values, types: parsers(PARSERS) })).rows;
  };
  try {
    const done = work({ query, client: guarded(client, send) }).then((value) => ({ value }));
    const result = await within(LONGEST_MS, done, clock);
    if (!result)
      throw new Error(
        "atomically() took over 5 s and was rolled back. Call other services before it, and write the result inside.",
      );
    if (failure) throw failure.error;
    return result.value;
  } finally {
    isOver = true;
  }
}

type Send = (statement: QueryConfig<unknown[]>) => Promise<unknown>;

/** The client for an ORM, which can neither end the transaction nor give the connection back. */
function guarded(client: PoolClient, send: Send): PoolClient {
  const query = async (statement: string | QueryConfig<unknown[]>, values?: unknown[]): Promise<unknown> =>
    send({
      ...(typeof statement === "string" ? { text: statement } : statement),
      ...(values && { values }),
    });
  return new Proxy(client, {
    get: (target, name) => {
      if (name === "query") return query;
      if (name === "release" || name === "end" || name === "connect") return () => undefined;
      return Reflect.get(target, name, target) as unknown;
    },
  });
}
