import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { unavailability } from "../../../receiver/engines/sqlite/database.ts";
import { MANNERS, PHASES, playTroubled, type Trouble } from "./troubled-scenario.ts";

/** Every kind of error that SQLite has for a file, a disk, a lock or a machine in trouble (https://sqlite.org/rescode.html). */
const WORDS = {
  SQLITE_BUSY: "busy",
  SQLITE_BUSY_SNAPSHOT: "busy",
  SQLITE_LOCKED: "busy",
  SQLITE_FULL: "full",
  SQLITE_IOERR: "io_error",
  SQLITE_IOERR_FSYNC: "io_error",
  SQLITE_CORRUPT: "corrupt",
  SQLITE_NOTADB: "corrupt",
  SQLITE_READONLY: "read_only",
  SQLITE_READONLY_DBMOVED: "read_only",
  SQLITE_CANTOPEN: "io_error",
  SQLITE_PERM: "read_only",
  // None of these is the disk's: it ends the writer, whose batch is of unknown outcome then, and the next takes over.
  SQLITE_INTERRUPT: undefined,
  SQLITE_NOMEM: undefined,
  SQLITE_PROTOCOL: undefined,
};
const CODES = Object.keys(WORDS);

/** How many of all pairs of an error and a manner are tried at a place; one, and fewer places the later they come, unless told otherwise. */
const ERRORS_A_PLACE = Number(process.env["ERRORS_A_PLACE"] ?? 1);
const EVERY_PLACE = ERRORS_A_PLACE > 1;

test.for(PHASES)(
  "a statement that fails in %s loses nothing, handles nothing twice, and is said",
  { timeout: 30_000 * ERRORS_A_PLACE },
  async (phase) => {
    let places = 0;
    for (let nth = 1, struck = true; struck; nth += EVERY_PLACE ? 1 : Math.ceil(nth / 6)) {
      const every = MANNERS.flatMap((manner) => CODES.map((code): Trouble => ({ phase, nth, code, manner })));
      // Neighbours in the list are alike, so they are taken from all over it.
      const taken = every.map((_, index) => every[(nth * 17 + index * 19) % every.length]);
      for (const trouble of taken.slice(0, ERRORS_A_PLACE)) {
        if (!trouble) continue;
        struck = await playTroubled(trouble).catch((error: unknown) => {
          throw new Error(JSON.stringify(trouble), { cause: error });
        });
      }
      places = nth;
    }
    expect(places).toBeGreaterThan(2);
  },
);

// Two manners of which only some places of the loop show what they do: all of these, in the short form too.
test.for([
  { manner: "after", code: "SQLITE_IOERR_FSYNC", from: 1, to: 26 },
  { manner: "rolled back", code: "SQLITE_FULL", from: 16, to: 26 },
] as const)(
  "$code $manner leaves nothing claimed or unsaid, wherever it comes",
  async ({ from, to, ...how }) => {
    for (let nth = from; nth <= to; nth += 1) {
      const struck = await playTroubled({ phase: "process", nth, ...how }).catch((error: unknown) => {
        throw new Error(`${how.manner} ${String(nth)}`, { cause: error });
      });
      expect(struck).toBe(true);
    }
  },
);

test("each error has a word for whoever is refused", () => {
  const words = CODES.map((code) => [code, unavailability(new Database.SqliteError("", code))]);
  expect(Object.fromEntries(words)).toEqual(WORDS);
});
