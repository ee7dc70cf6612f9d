import { describe, expect, test } from "vitest";
import type { Claim, Outcome } from "../../../receiver/engine.ts";
import { accept, done, handler, newEvent, newEvents, record, setUp, type CreateBackend } from "./harness.ts";

const DAY_MS = 86_400_000;

export function describeRetention(name: string, createBackend: CreateBackend): void {
  describe(`${name}: keeping`, () => {
    test("prunes finished events only, and still knows their ids", async () => {
      const { engine, pass, processing, ended, rows } = await setUp(createBackend);
      const events = ["done", "ignored", "dead", "waiting"].map((type) => newEvent({ type, objectId: type }));
      await accept(engine, events);
      await processing(byType, { handlers: KNOWN });
      await ended(3);
      await pass(40 * DAY_MS);
      const young = newEvent({ type: "done", objectId: "young" });
      await accept(engine, [young]);
      // What is due by now is tried again, and fails again.
      await ended(5);
      const older = { bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 400 * DAY_MS };
      expect(await engine.ledger.prune(older)).toEqual({ bodies: 2, ids: 0 });
      expect(await engine.ledger.prune(older)).toEqual({ bodies: 0, ids: 0 });
      const states = await Promise.all(events.map(async ({ id }) => (await engine.ledger.find(id))?.state));
      expect(states).toEqual(["pruned", "pruned", "dead", "pending"]);
      expect(await engine.ledger.find(young.id)).toMatchObject({ state: "done" });
      expect((await engine.ledger.counts()).byState).toEqual({
        pending: 1,
        claimed: 0,
        done: 1,
        ignored: 0,
        dead: 1,
      });
      expect(await rows("SELECT event_id FROM effects ORDER BY event_id")).toHaveLength(2);
      expect((await engine.ledger.check?.()) ?? []).toEqual([]);

      const again = await engine.intake.accept(events);
      expect(again.ok && again.acceptances.map(({ duplicate }) => duplicate)).toEqual(events.map(() => true));
      expect((await engine.ledger.find(events[0]!.id))?.state).toBe("pruned");
      expect(await engine.ledger.requeue(events.slice(0, 2).map(({ id }) => id))).toBe(0);
    });

    test("remembers of a pruned event when it came and whether it was handled", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const events = ["ignored", "done"].map((type) => newEvent({ type })).toReversed();
      await accept(engine, events);
      await processing(byType, { handlers: KNOWN });
      await ended(1);
      const { seq } = (await engine.ledger.find(events[0]!.id))!;
      await pass(40 * DAY_MS);
      await engine.ledger.prune({ bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 400 * DAY_MS });
      const found = await engine.ledger.find(events[0]!.id);
      expect(found).toMatchObject({
        id: events[0]!.id,
        state: "pruned",
        handled: 1,
        type: null,
        source: null,
      });
      expect(await engine.ledger.find(events[1]!.id)).toMatchObject({ state: "pruned", handled: 0 });
      expect(Math.abs((await engine.nowMs()) - 40 * DAY_MS - found!.receivedAtMs)).toBeLessThanOrEqual(
        DAY_MS,
      );
      expect(await engine.ledger.body(seq)).toBeUndefined();
    });

    test("forgets ids in their turn, though never that of an event that is still there", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const events = ["done", "ignored", "dead", "waiting"].map((type) => newEvent({ type }));
      await accept(engine, events);
      await processing(byType, { handlers: KNOWN });
      await ended(3);
      await pass(380 * DAY_MS);
      await ended(4);
      const bodies = { bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 400 * DAY_MS };
      expect(await engine.ledger.prune(bodies)).toEqual({ bodies: 2, ids: 0 });
      await pass(40 * DAY_MS);
      await ended(5);
      expect(await engine.ledger.prune(bodies)).toEqual({ bodies: 0, ids: 2 });
      expect(await engine.ledger.find(events[0]!.id)).toBeUndefined();
      expect(await engine.ledger.find(events[1]!.id)).toBeUndefined();
      expect(await engine.ledger.find(events[2]!.id)).toMatchObject({ state: "dead" });
      expect(await engine.ledger.find(events[3]!.id)).toMatchObject({ state: "pending" });
      const again = await engine.intake.accept(events);
      expect(again.ok && again.acceptances.map(({ duplicate }) => duplicate)).toEqual([
        false,
        false,
        true,
        true,
      ]);
    });

    test("knows up to when events may have been pruned, for good", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      expect(await engine.ledger.prunedBeforeMs()).toBe(0);
      await accept(engine, [newEvent({ objectId: "call_1" })]);
      await processing(done);
      await ended(1);
      expect(await engine.ledger.known("call.completed", ["call_1"])).toEqual(new Set(["call_1"]));
      await pass(40 * DAY_MS);
      await engine.ledger.prune({ bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 400 * DAY_MS });
      const expectedMs = (await engine.nowMs()) - 30 * DAY_MS;
      const markMs = await engine.ledger.prunedBeforeMs();
      expect(Math.abs(markMs - expectedMs)).toBeLessThan(20_000);
      // A longer retention from now on does not bring anything back.
      await engine.ledger.prune({ bodiesOlderThanMs: 90 * DAY_MS, idsOlderThanMs: 400 * DAY_MS });
      const other = await open();
      expect(await other.ledger.prunedBeforeMs()).toBe(markMs);
    });

    test("waits for the transaction of a handler, and prunes what it was asked to", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent({ type: "done" })]);
      const [inside, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      await processing(async (claim) => {
        if (claim.type === "done") return done();
        await claim.atomically(claim.signal)(async (db) => {
          await db.query("INSERT INTO effects VALUES ($1, 1)", [claim.id]);
          inside.resolve();
          await leave.promise;
        });
        return { kind: "done" };
      });
      await ended(1);
      await pass(40 * DAY_MS);
      await accept(engine, [newEvent({ type: "slow" })]);
      await inside.promise;
      // Whoever answers is there, and has nothing else to do.
      await engine.ledger.counts();
      const pruned = engine.ledger.prune({
        bodiesOlderThanMs: 30 * DAY_MS,
        idsOlderThanMs: 400 * DAY_MS,
      });
      // It has begun by then, and waits.
      setTimeout(leave.resolve, 100);
      expect(await pruned).toEqual({ bodies: 1, ids: 0 });
      await ended(2);
    });

    test("prunes what came after one that has to stay, however much it is", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const older = { bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 40 * DAY_MS };
      await accept(engine, newEvents(1, { type: "dead" }));
      await accept(engine, newEvents(250, { type: "done" }));
      const processor = await processing(byType, { handlers: KNOWN, concurrency: 50 });
      await ended(251);
      await processor.drain(0);
      await pass(50 * DAY_MS);
      // The newest of all keeps its id, so that no number is given twice.
      await accept(engine, [newEvent({ type: "waiting" })]);
      expect(await engine.ledger.prune(older)).toEqual({ bodies: 250, ids: 250 });
      expect((await engine.ledger.counts()).byState).toMatchObject({ dead: 1, done: 0, pending: 1 });
    });

    test("prunes a great deal beside acknowledgements and handlers", async () => {
      const { engine, pass, processing, ended, handled } = await setUp(createBackend);
      await accept(engine, newEvents(1_000));
      await processing(record, { concurrency: 100 });
      await ended(1_000);
      await pass(40 * DAY_MS);
      const pruning = { over: false };
      const pruned = engine.ledger
        .prune({ bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 400 * DAY_MS })
        .finally(() => {
          pruning.over = true;
        });
      let accepted = 0;
      do {
        await accept(engine, [newEvent()]);
        accepted += 1;
      } while (!pruning.over);
      expect(await pruned).toEqual({ bodies: 1_000, ids: 0 });
      await ended(1_000 + accepted);
      expect(handled.filter(({ outcome }) => outcome !== "done")).toEqual([]);
    });
  });
}

/** Every type but `ignored`. */
const KNOWN = [handler({ types: ["done", "dead", "waiting"] })];

async function byType(claim: Claim): Promise<Outcome> {
  if (claim.type === "waiting") return { kind: "failed", error: "later" };
  return claim.type === "dead" ? { kind: "dead", error: "hopeless" } : record(claim);
}
