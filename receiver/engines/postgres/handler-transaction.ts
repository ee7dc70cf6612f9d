import type { Clock } from "../../clock.ts";
import { LeaseLost, type Atomically, type HandlerDatabase, type SqlValue } from "../../engine.ts";
import { isLostClaim, type ClaimedEvent, type Claims } from "./claims.ts";
import { isAnswered, type Client, type Pool } from "./connection.ts";
import type { Spoken } from "./spoken.ts";
import { storable } from "./text.ts";
import { withinLimit } from "../within-limit.ts";

/** How often, and after which pauses, to look what became of a transaction whose answer was lost. */
const LOOKS = 10;
const LOOK_PAUSE_MS = 500;

export type HandlerTransaction = {
  atomically: (signal: AbortSignal) => Atomically;
  /** What became of it, once the handler has ended: one that is still open then is rolled back. */
  end: () => Promise<"none" | "committed" | "forgotten">;
};

type Means = { pool: Pool; spoken: Spoken; claims: Claims; clock: Clock; worker: string };

/** Makes the transactions of handlers: their writes commit together with `done`, or not at all; not once `lost` is aborted. */
export function createHandlerTransaction(
  means: Means,
  event: ClaimedEvent,
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
      const promise = transact(means, event, [signal, lost, over.signal], work).then((result) => {
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
  event: ClaimedEvent,
  signals: readonly AbortSignal[],
  work: (db: HandlerDatabase) => Promise<Result>,
): Promise<Result> {
  for (const signal of signals) signal.throwIfAborted();
  const client = await means.pool.connect();
  const transaction = open(means.spoken, client);
  let isSound = false;
  try {
    const result = await withinLimit(async () => work(transaction.database), {
      signals,
      clock: means.clock,
    });
    await transaction.close();
    for (const signal of signals) signal.throwIfAborted();
    await complete(means, client, event);
    isSound = client.getTransactionStatus() === "I";
    return result;
  } finally {
    client.release(!(isSound || (await transaction.leave())));
  }
}

/** The transaction as a handler sees it. */
function open(spoken: Spoken, client: Client) {
  let isOpen = true;
  let hasBegun = false;
  let failure: unknown;
  const running = new Set<Promise<unknown>>();
  const query = async (
    sql: string,
    parameters: readonly SqlValue[] = [],
  ): Promise<Record<string, unknown>[]> => {
    if (!isOpen) throw new Error("This transaction has ended: await every query inside atomically().");
    if (ENDS_TRANSACTION.test(sql)) {
      throw new Error("atomically() begins and commits the transaction itself: leave that statement out.");
    }
    const say = hasBegun ? spoken.say : spoken.begin;
    hasBegun = true;
    const promise = say(client, sql, parameters.map(storableValue));
    running.add(promise);
    try {
      return await promise;
    } catch (error) {
      failure ??= error;
      throw error;
    } finally {
      running.delete(promise);
    }
  };
  return {
    database: { query } satisfies HandlerDatabase,
    /** Takes no more statements, and waits for those that nobody awaited. Throws when one has failed. */
    close: async (): Promise<void> => {
      isOpen = false;
      await Promise.allSettled(running);
      // PostgreSQL goes on with nothing after a failed statement, even if the handler would.
      if (failure !== undefined) throw failure;
    },
    /** Rolls back what was not committed. Answers whether the connection can be used again. */
    leave: async (): Promise<boolean> => {
      isOpen = false;
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

const ENDS_TRANSACTION = /^\s*(begin|start|commit|end|abort|prepare|rollback(?!\s+to\b))\b/i;

async function complete(
  { spoken, claims, clock, worker }: Means,
  client: Client,
  event: ClaimedEvent,
): Promise<void> {
  try {
    await spoken.commit(client, event, worker);
  } catch (error) {
    if (isLostClaim(error)) throw new LeaseLost(event.id);
    if (isAnswered(error) || !(await wasCompleted(claims, event, clock))) throw error;
  }
}

/** Whether the transaction was committed whose answer was lost with its connection. */
async function wasCompleted(claims: Claims, event: ClaimedEvent, clock: Clock): Promise<boolean> {
  for (let look = 1; look <= LOOKS; look += 1) {
    const completed = await claims.isCompleted(event).catch(() => undefined);
    if (completed !== undefined) return completed;
    await clock.sleep(LOOK_PAUSE_MS);
  }
  return false;
}
