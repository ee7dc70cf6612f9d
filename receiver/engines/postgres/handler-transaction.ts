import type { Clock } from "../../clock.ts";
import { LeaseLost, type Atomically, type HandlerDatabase, type SqlValue } from "../../engine.ts";
import { isAnswered, searchPath, type Client, type Pool, type Prepare } from "./connection.ts";
import { COMPLETE, isLostClaim, type ClaimedJob, type Jobs } from "./jobs.ts";
import { storable } from "./text.ts";
import { createHandlerQuery } from "../handler-query.ts";
import { withinLimit } from "../within-limit.ts";

/** How often, and after which pauses, to look what became of a transaction whose answer was lost. */
const LOOKS = 10;
const LOOK_PAUSE_MS = 500;

export type HandlerTransaction = {
  atomically: (signal: AbortSignal) => Atomically;
  /** What became of it, once the handler has ended: one that is still open then is rolled back. */
  end: () => Promise<"none" | "committed" | "forgotten">;
};

export type Means = {
  /** Statements go out on it before those before them are answered. */
  pool: Pool;
  prepare: Prepare;
  /** Handlers' tables are in schemas of their own. */
  schema: string;
  jobs: Pick<Jobs, "isCompleted">;
  clock: Clock;
};

/** Makes the transactions of handlers: their writes commit together with `done`, or not at all; not once `lost` is aborted. */
export function createHandlerTransaction(
  means: Means,
  job: ClaimedJob,
  lost: AbortSignal,
): HandlerTransaction {
  let running: Promise<unknown> | undefined;
  let committed = false;
  const over = new AbortController();
  return {
    atomically: (signal) => async (work) => {
      if (running !== undefined || committed) {
        throw new Error("atomically() commits the event together with its writes: call it once, last.");
      }
      const promise = transact(means, job, [signal, lost, over.signal], work).then((result) => {
        committed = true;
        return result;
      });
      running = promise;
      return promise.finally(() => {
        running = undefined;
      });
    },
    end: async () => {
      if (running === undefined) return committed ? "committed" : "none";
      over.abort(new Error("The handler ended before its atomically() did: await it."));
      await running.catch(() => undefined);
      // Where its COMMIT was on its way already, it counts.
      return committed ? "committed" : "forgotten";
    },
  };
}

async function transact<Result>(
  means: Means,
  job: ClaimedJob,
  signals: readonly AbortSignal[],
  work: (db: HandlerDatabase) => Promise<Result>,
): Promise<Result> {
  for (const signal of signals) signal.throwIfAborted();
  const client = await means.pool.connect();
  const transaction = open(client, means.schema);
  let isSound = false;
  try {
    const result = await withinLimit(async () => work(transaction.database), {
      signals,
      clock: means.clock,
    });
    await transaction.close();
    for (const signal of signals) signal.throwIfAborted();
    await complete(means, client, job);
    isSound = client.getTransactionStatus() === "I";
    return result;
  } finally {
    client.release(!(isSound || (await transaction.leave())));
  }
}

/** The transaction as a handler sees it. */
function open(client: Client, schema: string) {
  let hasBegun = false;
  let failure: unknown;
  const running = new Set<Promise<unknown>>();
  const run = async (sql: string, parameters: readonly SqlValue[]): Promise<Record<string, unknown>[]> => {
    // A session may have been somebody else's, behind a pooler, and know nothing of where handlers' tables are.
    if (!hasBegun)
      client.query(`BEGIN; SET LOCAL search_path = ${searchPath(schema)}`).catch(() => undefined);
    hasBegun = true;
    // Without values, a text would otherwise be allowed to be several statements.
    const statement = { text: sql, values: parameters.map(storableValue), queryMode: "extended" };
    const promise = client.query<Record<string, unknown>>(statement);
    running.add(promise);
    try {
      return (await promise).rows;
    } catch (error) {
      failure ??= error;
      throw error;
    } finally {
      running.delete(promise);
    }
  };
  const { query, end, close } = createHandlerQuery(run);
  return {
    database: { query } satisfies HandlerDatabase,
    /** Takes no more statements, and waits for those that nobody awaited. Throws when one has failed. */
    close: async (): Promise<void> => {
      close();
      await Promise.allSettled(running);
      end();
    },
    /** Rolls back what was not committed. Answers whether the connection can be used again. */
    leave: async (): Promise<boolean> => {
      close();
      // A statement that is still running would have to be waited for; the server undoes all when the client is gone.
      if (running.size > 0) return false;
      // What failed before it was sent has left its connection between two statements.
      if (failure !== undefined && !isAnswered(failure)) return false;
      return client.query("ROLLBACK").then(
        () => true,
        () => false,
      );
    },
  };
}

/** A zero byte in a text would fail the statement, at every attempt. */
function storableValue(value: SqlValue): SqlValue {
  return typeof value === "string" ? storable(value) : value;
}

async function complete({ prepare, jobs, clock }: Means, client: Client, job: ClaimedJob): Promise<void> {
  const completed = client.query(prepare(COMPLETE, [job.handler, job.job, job.token]));
  // Goes along: of a transaction whose last statement has failed it commits nothing.
  const committed = client.query("COMMIT");
  committed.catch(() => undefined);
  try {
    await completed;
    await committed;
  } catch (error) {
    if (isLostClaim(error)) throw new LeaseLost(job.id);
    if (isAnswered(error) || !(await wasCompleted(jobs, job, clock))) throw error;
  }
}

/** Whether the transaction was committed whose answer was lost with its connection. */
async function wasCompleted(
  jobs: Pick<Jobs, "isCompleted">,
  job: ClaimedJob,
  clock: Clock,
): Promise<boolean> {
  for (let look = 1; look <= LOOKS; look += 1) {
    const completed = await jobs.isCompleted(job).catch(() => undefined);
    if (completed !== undefined) return completed;
    await clock.sleep(LOOK_PAUSE_MS);
  }
  return false;
}
