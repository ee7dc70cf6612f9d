import type pg from "pg";
import { COMPLETE, type ClaimedEvent } from "./claims.ts";
import { sqlState, type Client, type Sessions } from "./connection.ts";
import type { Packages } from "./packages.ts";

type Row = Record<string, unknown>;

/** Statements of handlers that are kept prepared. They have few, unless they put values into their SQL. */
const MOST_PREPARED = 100;

/** What a prepared statement fails with once a table that it reads has been changed. */
const PLAN_IS_OLD = "0A000";

const BEGIN: Statement = { name: "receiver_begin", text: "BEGIN", values: [] };
const COMMIT: Statement = { name: "receiver_commit", text: "COMMIT", values: [] };
const COMPLETE_NAME = "receiver_complete";

type Statement = { name: string; text: string; values: string[] };

export type Spoken = ReturnType<typeof createSpoken>;

/**
 * What a handler's transaction says to the server, in as few messages as there can be: to both sides they cost more than
 * what they ask for. BEGIN goes along with the first statement, and COMMIT with the last.
 */
export function createSpoken({ pg }: Packages, { areOurs, prepare }: Sessions) {
  /** Whether a statement may still be prepared, by its text. */
  const known = new Map<string, boolean>();

  return {
    /** Has a new session know what all of them say. */
    greet: async (client: pg.ClientBase): Promise<void> => {
      if (!areOurs) return;
      // Only what has run is prepared, or what SQL prepares.
      await client.query(BEGIN);
      await client.query(COMMIT);
      await client.query(`PREPARE ${COMPLETE_NAME} (bigint, integer, text) AS ${COMPLETE}`);
    },

    /** Begins a transaction with its first statement; when that fails, it may have begun all the same. */
    begin: async (client: Client, text: string, values: unknown[]): Promise<Row[]> =>
      after(client, BEGIN, statement(text, values)).catch(noticeOldPlan(text)),

    say: async (client: Client, text: string, values: unknown[]): Promise<Row[]> =>
      client.query<Row>(alone(statement(text, values))).then(({ rows }) => rows, noticeOldPlan(text)),

    /** Completes the event and commits; fails when the claim was lost, and whenever what was said before has. */
    commit: async (client: Client, { seq, token }: ClaimedEvent, worker: string): Promise<void> => {
      const values = [String(seq), String(token), worker];
      await after(
        client,
        { name: COMPLETE_NAME, text: COMPLETE, values },
        areOurs ? { ...COMMIT } : { text: COMMIT.text },
      );
    },
  };

  /** Says `first` and `second` in one message, which is answered at once. Answers the rows of `second`. */
  async function after(client: Client, first: Statement, second: pg.QueryConfig<unknown[]>): Promise<Row[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    const query = new pg.Query<Row, unknown[]>(alone(second), (error, results) => {
      // One result for each of the two, though the types know of one alone.
      if (error) reject(error);
      else resolve([results].flat().at(-1)?.rows ?? []);
    });
    const { submit } = query;
    query.submit = (connection) => {
      connection.stream.cork();
      try {
        if (!areOurs) connection.parse({ name: "", text: first.text, types: [] }, true);
        connection.bind({ statement: areOurs ? first.name : "", values: first.values }, true);
        connection.execute({}, true);
        submit.call(query, connection);
      } finally {
        connection.stream.uncork();
      }
    };
    client.query(query);
    return promise;
  }

  function statement(text: string, values: unknown[]): pg.QueryConfig<unknown[]> {
    if (known.size < MOST_PREPARED && !known.has(text)) known.set(text, true);
    return known.get(text) === true ? prepare(text, values) : { text, values };
  }

  /** From now on it is planned anew each time, and the next attempt gets through. */
  function noticeOldPlan(text: string): (error: unknown) => never {
    return (error) => {
      if (sqlState(error) === PLAN_IS_OLD && known.has(text)) known.set(text, false);
      throw error;
    };
  }
}

/** Without values, a text would otherwise be allowed to be several statements. */
function alone(statement: pg.QueryConfig<unknown[]>): pg.QueryConfig<unknown[]> {
  return Object.assign(statement, { queryMode: "extended" });
}
