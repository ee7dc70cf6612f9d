import { describe, expect, test } from "vitest";
import type { HandlerDatabase } from "../../../receiver/engine.ts";
import { signalled } from "../helpers/until.ts";
import { accept, newEvent, newEvents, outcomeOf, record, setUp, type CreateBackend } from "./harness.ts";

export function describeMisuse(name: string, createBackend: CreateBackend): void {
  describe(`${name}: a transaction that is misused`, () => {
    test("leaves nothing behind when a statement fails, even if the handler swallows the error", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent({ type: "swallowing" });
      await accept(engine, [event, ...newEvents(10)]);
      await processing(
        async (claim) => {
          if (claim.type !== "swallowing") return record(claim);
          return outcomeOf(
            claim.atomically(claim.signal)(async (db) => {
              await db.query("INSERT INTO effects VALUES ($1, 1)", [claim.id]);
              await db.query("INSERT INTO no_such_table VALUES (1)").catch(() => []);
            }),
          );
        },
        { concurrency: 20 },
      );
      await ended(11);
      // Whether the engine can go on after a failed statement or not: the event is done exactly if its effect is there.
      const found = await engine.ledger.find(event.id);
      const effects = await rows(`SELECT * FROM effects WHERE event_id = '${event.id}'`);
      expect(effects).toHaveLength(found!.state === "done" ? 1 : 0);
      // What is told is the statement that failed, not what PostgreSQL says of those after it.
      expect(found!.lastError ?? "no_such_table").toContain("no_such_table");
      expect(await rows(`SELECT * FROM effects WHERE event_id <> '${event.id}'`)).toHaveLength(10);
    });

    test("is final: what the handler does afterwards can't fail the event, and a second one is refused", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const second = signalled<string>();
      await processing(async (claim) => {
        await record(claim);
        await record(claim).catch((error: unknown) => second.give(String(error)));
        return { kind: "failed", error: "too late" };
      });
      expect(await second.promise).toContain("once");
      expect(await ended(1)).toMatchObject([{ outcome: "done" }]);
      expect(await engine.ledger.find(event.id)).toMatchObject({
        state: "done",
        handled: 1,
        lastError: null,
      });
      expect(await rows("SELECT * FROM effects")).toHaveLength(1);
    });

    test("is not begun again in an attempt in which it failed", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const second = signalled<string>();
      await processing(async (claim) => {
        const first = claim.atomically(claim.signal)(async () => Promise.reject(new Error("Not yet.")));
        await first.catch(() => undefined);
        await record(claim).catch((error: unknown) => second.give(String(error)));
        return { kind: "dead", error: "given up" };
      });
      expect(await second.promise).toContain("once");
      expect(await ended(1)).toMatchObject([{ outcome: "dead" }]);
      expect(await rows("SELECT * FROM effects")).toEqual([]);
    });

    test("writes once when it is called twice at the same time", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      await processing(async (claim) => {
        const both = await Promise.allSettled([record(claim), record(claim)]);
        expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
        return { kind: "done" };
      });
      expect(await ended(1)).toMatchObject([{ outcome: "done" }]);
      expect(await rows("SELECT * FROM effects")).toHaveLength(1);
    });

    test("lets nothing be written with it once it has ended", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const late = signalled<string>();
      await processing(async (claim) => {
        const kept = await claim.atomically(claim.signal)(async (db): Promise<HandlerDatabase> => db);
        await kept
          .query("INSERT INTO effects VALUES ('late', 1)")
          .catch((error: unknown) => late.give(String(error)));
        return { kind: "done" };
      });
      expect(await late.promise).toContain("transaction has ended");
      await ended(1);
      expect(await rows("SELECT * FROM effects")).toEqual([]);
    });

    test("is never half done when the handler forgets to await it", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      await processing(async (claim) => {
        record(claim).catch(() => undefined);
        return { kind: "done" };
      });
      await ended(1);
      const found = await engine.ledger.find(event.id);
      expect(await rows("SELECT * FROM effects")).toHaveLength(found!.state === "done" ? 1 : 0);
    });

    test("is never half done when the handler forgets to await a query", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      await processing(async (claim) =>
        outcomeOf(
          claim.atomically(claim.signal)(async (db) => {
            db.query("INSERT INTO effects VALUES ('x', 1)").catch(() => undefined);
          }),
        ),
      );
      await ended(1);
      const found = await engine.ledger.find(event.id);
      const effects = await rows("SELECT * FROM effects");
      // A query that came too late for its transaction is refused: done without it, or with it, but never it alone.
      expect(effects.length).toBeLessThanOrEqual(found!.handled);
    });
  });
}
