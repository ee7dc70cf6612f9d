import { expect, test } from "vitest";
import {
  adviceOn,
  refusalOf,
  retryingConflicts,
  sqlState,
} from "../../../receiver/engines/postgres/connection.ts";

/** What each trouble of a server is told as, without one. */

/** An error as the driver gives the server's, or one of the network. */
const answered = (code: string, message = "words"): Error =>
  Object.assign(new Error(message), { code, severity: "ERROR" });
const unanswered = (code: string, message = "words"): Error => Object.assign(new Error(message), { code });

const MEND = ". Mend the user, the password or the database in DATABASE_URL.";
const LOOK = ". Look whether PostgreSQL runs, and DATABASE_URL names it.";
const GRANT = ". Let the role's owner grant it what docs/scaling.md lists.";

test.each([
  ["53100", "full", ""],
  ["53000", "overloaded", ""],
  ["53200", "overloaded", ""],
  ["53300", "overloaded", ""],
  ["25006", "read_only", ""],
  ["57014", "timeout", ""],
  ["57P01", "outcome_unknown", LOOK],
  ["57P02", "outcome_unknown", LOOK],
  ["57P03", "connection_lost", LOOK],
  ["08006", "connection_lost", ""],
  ["58030", "io_error", ""],
  ["XX001", "corrupt", ""],
  ["42501", "busy", GRANT],
  ["28P01", "busy", MEND],
  ["3D000", "busy", MEND],
  ["40001", "busy", ""],
  ["55P03", "busy", ". Somebody holds a lock on its tables: pg_locks and pg_stat_activity say who."],
])("what the server refuses with %s is %s, on any connection, with what to do", (code, reason, advice) => {
  for (const connected of [true, false])
    expect(refusalOf(answered(code), connected)).toEqual({
      ok: false,
      reason,
      detail: `words (${code})${advice}`,
    });
  expect([adviceOn(answered(code)), sqlState(answered(code))]).toEqual([advice, code]);
});

test.each<[unknown, boolean, string, string]>([
  [unanswered("ECONNRESET"), true, "outcome_unknown", LOOK],
  [unanswered("ECONNREFUSED"), false, "connection_lost", LOOK],
  [new Error("Query read timeout"), true, "timeout", LOOK],
  [new Error("timeout exceeded when trying to connect"), false, "overloaded", LOOK],
  [new Error("timeout of another kind"), false, "connection_lost", LOOK],
  [new Error("Connection terminated unexpectedly"), true, "outcome_unknown", LOOK],
  [new Error("canceling statement due to statement timeout"), true, "timeout", ""],
  [new Error("odd"), true, "outcome_unknown", ""],
  ["a text", false, "connection_lost", ""],
])("without an answer of the server %o is, sent: %s, %s", (error, connected, reason, advice) => {
  const detail = error instanceof Error ? error.message : String(error);
  expect(refusalOf(error, connected)).toEqual({ ok: false, reason, detail });
  expect([adviceOn(error), sqlState(error)]).toEqual([advice, undefined]);
});

test.each([
  ["40P01", 2, 3, "done"],
  ["40001", 2, 3, "done"],
  ["40001", 3, 3, "words"],
  ["23505", 1, 1, "words"],
])("what the server undoes with %s, %i times, is tried %i times", async (code, times, expected, outcome) => {
  let tries = 0;
  const work = async (): Promise<string> => {
    tries += 1;
    return tries <= times ? Promise.reject(answered(code)) : "done";
  };
  expect(await retryingConflicts(work).catch((error: Error) => error.message)).toBe(outcome);
  expect(tries).toBe(expected);
});
