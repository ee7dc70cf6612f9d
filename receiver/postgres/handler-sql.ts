import type { PoolClient, QueryConfig } from "pg";
import type { Clock } from "../clock.ts";
import { bound, refuseTransactionControl } from "../store/handler-sql.ts";
import type { HandlerDatabase } from "../store/port.ts";
import { storable, VALUES } from "./connection.ts";

/** How long a handler may hold a transaction open. */
const LONGEST_MS = 5_000;
const TOO_LONG =
  "atomically() took over 5 s and was rolled back. Call other services before it, and write the result inside.";

type Send = (statement: QueryConfig<unknown[]>) => Promise<{ rows: Record<string, unknown>[] }>;

/**
 * Runs `work` in the open transaction of `client`. Rejects if one of its statements failed, even if `work` caught the error,
 * if it takes over 5 s, and if it ended the transaction.
 */
export async function useTransaction<Result>(
  client: PoolClient,
  clock: Clock,
  work: (db: HandlerDatabase) => Promise<Result>,
): Promise<Result> {
  let failure: { error: unknown } | undefined;
  let isOver = false;

  const send: Send = async (statement) => {
    if (isOver) throw new Error("This transaction has ended: await every query inside atomically().");
    if (failure) throw failure.error;
    try {
      refuseTransactionControl(statement.text);
      // Otherwise a text without values could contain several statements.
      const extended = { ...statement, queryMode: "extended" };
      return await client.query<Record<string, unknown>>(extended);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };

  const query: HandlerDatabase["query"] = async (text, parameters = []) => {
    const values = parameters.map((value, index) => storable(bound(value, index + 1)));
    return (await send({ text, values, types: VALUES })).rows;
  };
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(LONGEST_MS, () => late.reject(new Error(TOO_LONG)));
  try {
    const result = await Promise.race([work({ query, client: guarded(client, send) }), late.promise]);
    if (failure) throw failure.error;
    return result;
  } finally {
    cancel();
    isOver = true;
  }
}

/** The client for an ORM. It can neither end the transaction nor release the connection. */
function guarded(client: PoolClient, send: Send): PoolClient {
  const own = {
    query: async (statement: string | QueryConfig<unknown[]>, values?: unknown[]) =>
      send({
        ...(typeof statement === "string" ? { text: statement } : statement),
        ...(values && { values }),
      }),
    release: () => undefined,
    end: () => undefined,
    connect: () => undefined,
  };
  return new Proxy(client, {
    get: (target, name) => Reflect.get(Object.hasOwn(own, name) ? own : target, name, target) as unknown,
  });
}
