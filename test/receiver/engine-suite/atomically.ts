import { describe, expect, test } from "vitest";
import type { Claim, JobHandler, Migration } from "../../../receiver/engine.ts";
import { signalled } from "../helpers/until.ts";
import {
  accept,
  BACKOFF_MS,
  handler,
  newEvent,
  newEvents,
  outcomeOf,
  record,
  setUp,
  type CreateBackend,
} from "./harness.ts";

export function describeAtomically(name: string, createBackend: CreateBackend): void {
  describe(`${name}: writing within the event's transaction`, () => {
    test("commits the effects and done together", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const events = newEvents(60);
      await accept(engine, events);
      await processing(record, { concurrency: 20 });
      expect(new Set((await ended(60)).map(({ outcome }) => outcome))).toEqual(new Set(["done"]));
      const effects = await rows("SELECT event_id, attempt FROM effects ORDER BY event_id");
      expect(effects).toEqual(events.map(({ id }) => ({ event_id: id, attempt: 1 })).toSorted(byEventId));
      expect(await engine.ledger.find(events[0]!.id)).toMatchObject({ state: "done", handled: 1 });
    });

    test("answers rows, takes every kind of value, and answers what the work returns", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const answered = signalled<unknown>();
      await processing(async (claim) => {
        const result = await claim.atomically(claim.signal)(async (db) => {
          expect(await db.query("INSERT INTO effects VALUES ($1, $2)", ["b", null])).toEqual([]);
          await db.query("INSERT INTO effects VALUES ($2, $1)", [7, "a"]);
          return db.query("SELECT event_id, attempt FROM effects WHERE event_id <> $1 ORDER BY event_id", [
            claim.id,
          ]);
        });
        answered.give(result);
        return { kind: "done" };
      });
      await ended(1);
      expect(await answered.promise).toEqual([
        { event_id: "a", attempt: 7 },
        { event_id: "b", attempt: null },
      ]);
    });

    test("puts a value wherever its number stands, and nowhere else", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const answered = signalled<unknown>();
      await processing(async (claim) => {
        const result = await claim.atomically(claim.signal)(async (db) =>
          db.query(
            `SELECT CAST($10 AS text) AS "ten $1", 'it''s $1' AS quoted, /* $2 */ CAST($1 AS text) AS one, -- $3
              ${[9, 8, 7, 6, 5, 4, 3, 2, 1].map((number) => `CAST($${String(number)} AS text)`).join(" || ")} AS down`,
            Array.from({ length: 10 }, (_, index) => String(index + 1)),
          ),
        );
        answered.give(result);
        return { kind: "done" };
      });
      await ended(1);
      expect(await answered.promise).toEqual([
        { "ten $1": "10", quoted: "it's $1", one: "1", down: "987654321" },
      ]);
    });

    test.for([1, 3])("fails a statement for two values that is given %i", async (given) => {
      const { engine, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const values = ["a", 1, 2].slice(0, given);
      await processing(async (claim) =>
        outcomeOf(
          claim.atomically(claim.signal)(async (db) =>
            db.query("INSERT INTO effects VALUES ($1, $2)", values),
          ),
        ),
      );
      expect(await ended(1)).toMatchObject([{ outcome: "failed" }]);
    });

    test("writes texts whatever they contain, and numbers as large as an envelope has them", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      await processing(async (claim) =>
        outcomeOf(
          claim.atomically(claim.signal)(async (db) =>
            db.query("INSERT INTO effects VALUES ($1, $2)", ["zero \0 byte, half \ud83d, 'quote'", 2 ** 40]),
          ),
        ),
      );
      expect(await ended(1)).toMatchObject([{ outcome: "done" }]);
      const [row] = await rows("SELECT event_id, attempt FROM effects");
      expect(String(row?.["event_id"])).toContain("'quote'");
      expect(Number(row?.["attempt"])).toBe(2 ** 40);
    });

    test("leaves nothing behind when the work throws, and the others' writes alone", async () => {
      const { engine, pass, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent({ type: "failing" });
      const others = newEvents(20);
      await accept(engine, [...others.slice(10), event, ...others.slice(0, 10)]);
      await processing(
        async (claim) => {
          if (claim.type !== "failing") return record(claim);
          return outcomeOf(
            claim.atomically(claim.signal)(async (db) => {
              await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
              if (claim.attempt === 1) throw new Error("changed my mind");
            }),
          );
        },
        { concurrency: 30 },
      );
      const ends = await ended(21);
      expect(ends.find(({ type }) => type === "failing")).toMatchObject({
        outcome: "failed",
        error: "Error: changed my mind",
      });
      const ofFailing = `SELECT attempt FROM effects WHERE event_id = '${event.id}'`;
      expect(await rows(ofFailing)).toEqual([]);
      expect(await rows("SELECT * FROM effects")).toHaveLength(20);
      await pass(BACKOFF_MS);
      await ended(22);
      expect(await rows(ofFailing)).toEqual([{ attempt: 2 }]);
    });

    test("is refused once the attempt's time is over", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      await processing(async (claim) => {
        const over = AbortSignal.abort(new Error("the time is over"));
        return outcomeOf(
          claim.atomically(over)(async (db) => db.query("INSERT INTO effects VALUES ('x', 1)")),
        );
      });
      expect(await ended(1)).toMatchObject([{ outcome: "failed", error: "Error: the time is over" }]);
      expect(await rows("SELECT * FROM effects")).toEqual([]);
    });

    test("is rolled back when the attempt's time is over before its work is", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const goOn = signalled();
      const late = signalled<string>();
      await processing(async (claim) => {
        const deadline = new AbortController();
        return outcomeOf(
          claim.atomically(deadline.signal)(async (db) => {
            await db.query("INSERT INTO effects VALUES ('x', 1)");
            deadline.abort(new Error("the time is over"));
            await goOn.promise;
            await db
              .query("INSERT INTO effects VALUES ('y', 1)")
              .catch((error: unknown) => late.give(String(error)));
          }),
        );
      });
      expect(await ended(1)).toMatchObject([{ outcome: "failed", error: "Error: the time is over" }]);
      goOn.give();
      expect(await late.promise).toMatch(/transaction|time is over/);
      expect(await rows("SELECT * FROM effects")).toEqual([]);
      expect(await engine.ledger.find(event.id)).toMatchObject({ state: "pending", handled: 0 });
    });

    test("keeps neither acknowledgements nor other processes waiting while it is open", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const inside = signalled();
      const leave = signalled();
      await processing(async (claim: Claim) => {
        await claim.atomically(claim.signal)(async (db) => {
          await db.query("INSERT INTO effects VALUES ('x', 1)");
          inside.give();
          await leave.promise;
        });
        return { kind: "done" };
      });
      await inside.promise;
      // Were the two to share a write lock, this would not be answered before `leave`.
      await accept(engine, [newEvent()]);
      const other = await open();
      const { byState } = await other.ledger.counts();
      expect(byState.pending + byState.claimed).toBe(2);
      leave.give();
      await ended(2);
    });

    test("finds the handlers' tables as their migrations left them, each of which ran once", async () => {
      const { open, processing, ended, rows } = await setUp(createBackend);
      const first = "CREATE TABLE notes (text TEXT)";
      const second = "ALTER TABLE notes ADD COLUMN length INTEGER";
      const third = {
        sqlite: "INSERT INTO notes VALUES ('sqlite', 1)",
        postgres: "INSERT INTO notes VALUES ('postgres', 1)",
      };
      const write = async (claim: Claim) =>
        outcomeOf(
          claim.atomically(claim.signal)(async (db) =>
            db.query("INSERT INTO notes (text, length) VALUES ($1, $2)", ["by a handler", 12]),
          ),
        );
      const together = await Promise.all([open(), open(), open()]);
      await Promise.all(
        together.map(async (one) => processing(write, { engine: one, handlers: notes(first) })),
      );
      await processing(write, { engine: await open(), handlers: notes(first, second, third) });
      // A version before, and then the later one again: what it had run is not run once more.
      await processing(write, { engine: await open(), handlers: notes(first) });
      await processing(write, { engine: await open(), handlers: notes(first, second, "SELECT 1") });
      await accept(together[0], [newEvent()]);
      expect(await ended(1)).toMatchObject([{ outcome: "done" }]);
      expect(await rows("SELECT length FROM notes ORDER BY length")).toEqual([{ length: 1 }, { length: 12 }]);
    });
  });
}

function notes(...migrations: Migration[]): JobHandler[] {
  return [
    handler({ name: "effects", types: [] }),
    handler({ name: "notes", types: ["call.completed"], migrations }),
  ];
}

function byEventId(a: { event_id: string }, b: { event_id: string }): number {
  return a.event_id < b.event_id ? -1 : 1;
}
