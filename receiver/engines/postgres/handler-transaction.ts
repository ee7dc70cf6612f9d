import type { Clock } from "../../clock.ts";
import { LeaseLost, type HandlerDatabase, type SqlValue } from "../../engine.ts";
import { searchPath, sqlState, withClient, type Client, type Pool, type Prepare } from "./connection.ts";
import { COMPLETE, DIVISION_BY_ZERO, type ClaimedJob } from "./jobs.ts";
import { storable } from "./text.ts";
import { createHandlerQuery } from "../handler-query.ts";
import { withinLimit } from "../within-limit.ts";

export type Means = {
  /** Sends statements without waiting for the answers to those before them. */
  pool: Pool;
  prepare: Prepare;
  /** Handlers' tables are in schemas of their own. */
  schema: string;
  clock: Clock;
};

/**
 * The transaction of a handler: its writes commit together with `done`, or not at all; not once one of `signals` is
 * aborted. A transaction that is not committed ends with its connection: the server rolls it back.
 */
export async function transact<Result>(
  means: Means,
  job: ClaimedJob,
  signals: readonly AbortSignal[],
  work: (db: HandlerDatabase) => Promise<Result>,
): Promise<Result> {
  for (const signal of signals) signal.throwIfAborted();
  return withClient(means.pool, async (client) => {
    const { run, begun } = statementsOn(client, means.schema);
    const { query, end, close } = createHandlerQuery(run);
    try {
      const result = await withinLimit(async () => work({ query }), { signals, clock: means.clock });
      end();
      for (const signal of signals) signal.throwIfAborted();
      // What was not awaited is sent before.
      await begun();
      await complete(means, client, job).catch((error: unknown) => {
        // Where the handler did not await a statement that failed, that statement's error says more than this one.
        end();
        throw error;
      });
      return result;
    } finally {
      close();
    }
  });
}

/** One statement as a handler makes it, in a transaction that belongs to no job. */
export async function queryOnce(
  { pool, schema }: Pick<Means, "pool" | "schema">,
  sql: string,
  parameters?: readonly SqlValue[],
): Promise<Record<string, unknown>[]> {
  return withClient(pool, async (client) => {
    const rows = await createHandlerQuery(statementsOn(client, schema).run).query(sql, parameters);
    await client.query("COMMIT");
    return rows;
  });
}

/** Runs statements of one transaction, which begins with the first of them. */
function statementsOn(client: Client, schema: string) {
  let begun: Promise<unknown> | undefined;
  const run = async (sql: string, parameters: readonly SqlValue[]): Promise<Record<string, unknown>[]> => {
    // Behind a pooler, the session may have been another program's, and not have our search path.
    begun ??= client.query(
      `BEGIN; SET LOCAL search_path = ${searchPath(schema)}; SET LOCAL enable_seqscan = on`,
    );
    // Where it is refused, as by a cancel, a statement that was sent along would be committed by itself.
    await begun;
    // A zero byte in a text would fail the statement, at every attempt.
    const values = parameters.map((value) => (typeof value === "string" ? storable(value) : value));
    // Otherwise a text without values could be several statements.
    const statement = { text: sql, values, queryMode: "extended" };
    return (await client.query<Record<string, unknown>>(statement)).rows;
  };
  return { run, begun: async () => begun };
}

/** When its answer is lost with the connection, nobody knows here whether it was committed: the job says so. */
async function complete({ prepare }: Means, client: Client, job: ClaimedJob): Promise<void> {
  const completed = client.query(prepare(COMPLETE, [job.handler, job.job, job.token]));
  // Sent together with it. Where that statement has failed, COMMIT commits nothing.
  const committed = client.query("COMMIT");
  committed.catch(() => undefined);
  await completed.catch((error: unknown) => {
    throw sqlState(error) === DIVISION_BY_ZERO ? new LeaseLost(job.id) : error;
  });
  await committed;
}
