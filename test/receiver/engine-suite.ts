import { describe, expect, onTestFinished, test } from "vitest";
import type { Clock } from "../../receiver/clock.ts";
import type {
  Claim,
  Engine,
  Handled,
  NewEvent,
  Outcome,
  Processor,
  ProcessOptions,
} from "../../receiver/engine.ts";
import { movableClock } from "./helpers/clock.ts";
import { newEventId } from "./helpers/events.ts";
import { signalled, until } from "./helpers/until.ts";

/** One database for one test, which any number of engines may open at the same time. */
export type Backend = {
  open: (options: { clock: Clock; workerId: string; tables: readonly string[] }) => Engine;
  /** Rows of a handlers' table, read past the engine. */
  rows: (sql: string) => Promise<Record<string, unknown>[]>;
};

const LEASE_MS = 30_000;
const DAY_MS = 86_400_000;
const TABLES = ["CREATE TABLE IF NOT EXISTS effects (event_id TEXT, attempt INTEGER)"];

/** What an engine promises. This suite is the definition: an engine that passes it may be used. */
export function describeEngine(name: string, createBackend: () => Promise<Backend>): void {
  describe(`${name}: accepting`, () => {
    test("stores an event that is pending, with its body byte for byte", async () => {
      const { engine } = await setUp();
      const event = newEvent({ body: Buffer.from('{ "odd" :   "spacing\\u00e9" }') });
      expect(await engine.accept([event])).toEqual({ ok: true, acceptances: [{ duplicate: false }] });
      const found = await engine.find(event.id);
      expect(found).toMatchObject({
        id: event.id,
        type: event.type,
        state: "pending",
        attempts: 0,
        handled: 0,
      });
      expect(Buffer.from((await engine.body(found!.seq))!).equals(event.body)).toBe(true);
      expect(await engine.find(newEventId())).toBeUndefined();
    });

    test("recognises an id within a batch, in another batch and in another process", async () => {
      const { engine, openAnother } = await setUp();
      const other = openAnother();
      const event = newEvent();
      const first = await engine.accept([event, event]);
      expect(first.ok && first.acceptances.map(({ duplicate }) => duplicate)).toEqual([false, true]);
      const second = await other.accept([event, newEvent()]);
      expect(second.ok && second.acceptances.map(({ duplicate }) => duplicate)).toEqual([true, false]);
      expect(await engine.find(event.id)).toMatchObject({ duplicates: 2 });
    });

    test("keeps one row an id when many bring it through several engines at once", async () => {
      const { engine, openAnother } = await setUp();
      const engines = [engine, openAnother(), openAnother()];
      const events = Array.from({ length: 20 }, () => newEvent());
      const results = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => engines[index % 3]!.accept(shuffled(events, index))),
      );
      const fresh = results
        .flatMap((result) => (result.ok ? result.acceptances : []))
        .filter((one) => !one.duplicate);
      expect(results.every(({ ok }) => ok)).toBe(true);
      expect(fresh).toHaveLength(events.length);
      expect((await engine.counts()).byState.pending).toBe(events.length);
    });

    test("gives both hashes when an id comes with another body, and keeps the first body", async () => {
      const { engine } = await setUp();
      const event = newEvent({ body: Buffer.from("first") });
      await engine.accept([event]);
      const again = await engine.accept([{ ...event, body: Buffer.from("second") }]);
      const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
      expect(again).toMatchObject({
        acceptances: [{ duplicate: true, differs: { storedSha256: hash, receivedSha256: hash } }],
      });
      const found = await engine.find(event.id);
      expect(Buffer.from((await engine.body(found!.seq))!).toString()).toBe("first");
    });

    test("lets the object decide where reconcile is involved, and the id everywhere else", async () => {
      const { engine } = await setUp();
      const webhook = newEvent({ type: "call.completed", objectId: "call_1" });
      const sameObject = newEvent({ type: "call.completed", objectId: "call_1" });
      const healed = newEvent({ type: "voicemail.created", objectId: "vm_1", source: "reconcile" });
      const late = newEvent({ type: "voicemail.created", objectId: "vm_1" });
      const otherType = newEvent({ type: "call.completed", objectId: "vm_1" });
      await engine.accept([webhook, healed]);
      expect(
        await engine.accept([
          sameObject,
          late,
          otherType,
          { ...sameObject, id: newEventId(), source: "reconcile" },
        ]),
      ).toMatchObject({
        acceptances: [{ duplicate: false }, { duplicate: true }, { duplicate: false }, { duplicate: true }],
      });
      // What came late is known by its own id too, and stands for the event that was there.
      expect(await engine.find(late.id)).toMatchObject({ id: healed.id, source: "reconcile", duplicates: 1 });
      expect(await engine.accept([late])).toMatchObject({ acceptances: [{ duplicate: true }] });
      expect(await engine.known("voicemail.created", ["vm_1", "vm_2"])).toEqual(new Set(["vm_1"]));
    });

    test("says that it takes writes", async () => {
      const { engine } = await setUp();
      expect(await engine.probe()).toEqual({ ok: true });
    });
  });

  describe(`${name}: handling`, () => {
    test("hands every event out once, and it ends as done", async () => {
      const { engine, processing, handled } = await setUp();
      const events = Array.from({ length: 50 }, () => newEvent());
      await engine.accept(events);
      const seen: string[] = [];
      processing(async (claim) => {
        seen.push(claim.id);
        return { kind: "done" };
      });
      await until(
        () => handled.length,
        (length) => length === events.length,
      );
      expect(seen.toSorted()).toEqual(events.map(({ id }) => id).toSorted());
      expect(await engine.find(events[0]!.id)).toMatchObject({ state: "done", handled: 1, attempts: 1 });
      expect((await engine.counts()).byState).toMatchObject({ done: 50, pending: 0, claimed: 0 });
    });

    test("handles what several workers share exactly once each", async () => {
      const { engine, openAnother, processing, handled } = await setUp();
      const seen: string[] = [];
      const handle = async (claim: Claim): Promise<Outcome> => {
        seen.push(claim.id);
        return { kind: "done" };
      };
      processing(handle);
      processing(handle, { engine: openAnother("other") });
      const events = Array.from({ length: 200 }, () => newEvent());
      for (let at = 0; at < events.length; at += 20) await engine.accept(events.slice(at, at + 20));
      await until(
        () => handled.length,
        (length) => length === events.length,
      );
      expect(new Set(seen).size).toBe(seen.length);
    });

    test("gives a failed event another attempt after its backoff, not before", async () => {
      const { engine, clock, processing, handled } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      const { wake } = processing(async ({ attempt }) =>
        attempt < 3 ? { kind: "failed", error: "not yet" } : { kind: "done" },
      );
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      const failed = await engine.find(event.id);
      expect(failed).toMatchObject({ state: "pending", attempts: 1, lastError: "not yet" });
      expect(failed!.nextAttemptAtMs! - clock.nowMs()).toBeGreaterThan(50_000);
      clock.move(61_000);
      wake();
      await until(
        () => handled.length,
        (length) => length === 2,
      );
      clock.move(59_000);
      wake();
      expect(await engine.find(event.id)).toMatchObject({ state: "pending", attempts: 2 });
      clock.move(62_000);
      wake();
      await until(
        () => engine.find(event.id),
        (found) => found?.state === "done",
      );
      expect(handled.map(({ attempt, outcome }) => `${String(attempt)} ${outcome}`)).toEqual([
        "1 failed",
        "2 failed",
        "3 done",
      ]);
    });

    test("waits as long as the handler asks for", async () => {
      const { engine, clock, processing, handled } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      processing(async () => ({ kind: "failed", error: "busy", retryAfterSeconds: 3_600 }));
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      const found = await engine.find(event.id);
      expect(Math.abs(found!.nextAttemptAtMs! - clock.nowMs() - 3_600_000)).toBeLessThan(20_000);
    });

    test("buries an event after its last attempt, at once when it is hopeless, and keeps both visible", async () => {
      const { engine, processing, handled } = await setUp();
      const [worn, hopeless] = [newEvent({ type: "worn" }), newEvent({ type: "hopeless" })];
      await engine.accept([worn, hopeless]);
      processing(
        async ({ type }) => ({ kind: type === "worn" ? "failed" : "dead", error: `it was ${type}` }),
        { maximumAttempts: 1 },
      );
      await until(
        () => handled.length,
        (length) => length === 2,
      );
      expect(await engine.find(worn.id)).toMatchObject({
        state: "dead",
        lastError: "it was worn",
        handled: 0,
      });
      expect(await engine.find(hopeless.id)).toMatchObject({ state: "dead", lastError: "it was hopeless" });
      expect((await engine.list({ state: "dead" }, { limit: 10 })).map(({ id }) => id)).toEqual([
        hopeless.id,
        worn.id,
      ]);
    });

    test("requeues the dead and the ignored with all their attempts, and nothing else", async () => {
      const { engine, processing, handled } = await setUp();
      const events = ["dead", "ignored", "done"].map((type) => newEvent({ type }));
      await engine.accept(events);
      let mended = false;
      const { wake } = processing(async ({ type }): Promise<Outcome> => {
        if (mended || type === "done") return { kind: "done" };
        return type === "dead" ? { kind: "dead", error: "broken" } : { kind: "ignored" };
      });
      await until(
        () => handled.length,
        (length) => length === 3,
      );
      mended = true;
      expect(await engine.requeue([...events.map(({ id }) => id), newEventId()])).toBe(2);
      wake();
      await until(
        () => handled.length,
        (length) => length === 5,
      );
      for (const { id } of events) {
        expect(await engine.find(id)).toMatchObject({
          state: "done",
          attempts: 1,
          handled: 1,
          lastError: null,
        });
      }
    });

    test("never handles two events of one object at the same time", async () => {
      const { engine, processing, handled } = await setUp();
      const open = new Map<string, number>();
      let worst = 0;
      let together = 0;
      const running = { now: 0 };
      await engine.accept(
        Array.from({ length: 60 }, (_, index) =>
          newEvent({ orderingKey: `call_${String(index % 5)}`, type: `call_${String(index % 5)}` }),
        ),
      );
      processing(
        async ({ type }) => {
          open.set(type, (open.get(type) ?? 0) + 1);
          worst = Math.max(worst, open.get(type) ?? 0);
          running.now += 1;
          together = Math.max(together, running.now);
          await new Promise((resolve) => setImmediate(resolve));
          open.set(type, (open.get(type) ?? 0) - 1);
          running.now -= 1;
          return { kind: "done" };
        },
        { concurrency: 10 },
      );
      await until(
        () => handled.length,
        (length) => length === 60,
      );
      expect(worst).toBe(1);
      // The control: events of different objects do run together.
      expect(together).toBeGreaterThan(1);
    });
  });

  describe(`${name}: writing within the handler's transaction`, () => {
    test("commits the effects and done together", async () => {
      const { engine, processing, handled, rows } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      processing(async (claim) => {
        await record(claim);
        return { kind: "done" };
      });
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      expect(await rows("SELECT event_id, attempt FROM effects")).toEqual([
        { event_id: event.id, attempt: 1 },
      ]);
      expect(await engine.find(event.id)).toMatchObject({ state: "done", handled: 1 });
    });

    test("leaves nothing behind when the transaction throws", async () => {
      const { engine, clock, processing, handled, rows } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      const { wake } = processing(async (claim) => {
        try {
          await claim.atomically(neverAborted())(async (db) => {
            await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
            if (claim.attempt === 1) throw new Error("changed my mind");
          });
          return { kind: "done" };
        } catch (error) {
          return { kind: "failed", error: String(error) };
        }
      });
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      expect(await rows("SELECT * FROM effects")).toEqual([]);
      clock.move(61_000);
      wake();
      await until(
        () => handled.length,
        (length) => length === 2,
      );
      expect(await rows("SELECT event_id, attempt FROM effects")).toEqual([
        { event_id: event.id, attempt: 2 },
      ]);
    });

    test("is final: what the handler does afterwards can't fail the event, and a second one is refused", async () => {
      const { engine, processing, handled, rows } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      const second = signalled<string>();
      processing(async (claim) => {
        await record(claim);
        await record(claim).catch((error: unknown) => second.give(String(error)));
        return { kind: "failed", error: "too late" };
      });
      expect(await second.promise).toContain("once");
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      expect(handled[0]).toMatchObject({ outcome: "done" });
      expect(await engine.find(event.id)).toMatchObject({ state: "done", handled: 1, lastError: null });
      expect(await rows("SELECT * FROM effects")).toHaveLength(1);
    });

    test("is refused once the attempt's time is over", async () => {
      const { engine, processing, handled, rows } = await setUp();
      await engine.accept([newEvent()]);
      processing(async (claim) => {
        const over = AbortSignal.abort(new Error("the time is over"));
        return claim
          .atomically(over)(async (db) => db.query("INSERT INTO effects VALUES ('x', 1)"))
          .then(
            () => ({ kind: "done" }) as const,
            (error: unknown) => ({ kind: "failed", error: String(error) }) as const,
          );
      });
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      expect(handled[0]).toMatchObject({ outcome: "failed", error: "Error: the time is over" });
      expect(await rows("SELECT * FROM effects")).toEqual([]);
    });

    test("keeps neither acknowledgements nor other processes waiting while it is open", async () => {
      const { engine, openAnother, processing } = await setUp();
      await engine.accept([newEvent()]);
      const inside = signalled();
      const leave = signalled();
      processing(async (claim) => {
        await claim.atomically(neverAborted())(async (db) => {
          await db.query("INSERT INTO effects VALUES ('x', 1)");
          inside.give();
          await leave.promise;
        });
        return { kind: "done" };
      });
      await inside.promise;
      // Were the two to share a write lock, this would not be answered before `leave`.
      expect(await engine.accept([newEvent()])).toMatchObject({ ok: true });
      expect((await openAnother().counts()).byState).toMatchObject({ claimed: 1, pending: 1 });
      leave.give();
    });
  });

  describe(`${name}: workers that vanish`, () => {
    test("have their event taken up when the lease is over, and can change nothing afterwards", async () => {
      const { engine, clock, openAnother, processing, handled, rows } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      const claimed = signalled<Claim>();
      const goOn = signalled();
      const late = signalled<string>();
      processing(async (claim) => {
        claimed.give(claim);
        await goOn.promise;
        await record(claim).catch((error: unknown) => late.give((error as Error).name));
        return { kind: "done" };
      });
      await claimed.promise;

      clock.move(LEASE_MS - 1_000);
      const other = processing(
        async (claim) => {
          await record(claim);
          return { kind: "done" };
        },
        { engine: openAnother("other") },
      );
      expect(await engine.find(event.id)).toMatchObject({ state: "claimed", attempts: 1 });
      clock.move(1_001);
      other.wake();
      await until(
        () => engine.find(event.id),
        (found) => found?.state === "done",
      );
      goOn.give();
      expect(await late.promise).toBe("LeaseLost");
      await until(
        () => handled.length,
        (length) => length === 2,
      );
      expect(handled.map(({ outcome }) => outcome)).toEqual(["done", "lost"]);
      expect(await rows("SELECT attempt FROM effects")).toEqual([{ attempt: 2 }]);
      expect(await engine.find(event.id)).toMatchObject({ state: "done", handled: 1, attempts: 2 });
    });

    test("can't turn a finished event back with a late failure", async () => {
      const { engine, clock, openAnother, processing, handled } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      const claimed = signalled();
      const goOn = signalled();
      processing(async () => {
        claimed.give();
        await goOn.promise;
        return { kind: "dead", error: "late" };
      });
      await claimed.promise;
      clock.move(LEASE_MS + 1);
      processing(async () => ({ kind: "done" }), { engine: openAnother("other") });
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      goOn.give();
      await until(
        () => handled.length,
        (length) => length === 2,
      );
      expect(handled[1]).toMatchObject({ outcome: "lost" });
      expect(await engine.find(event.id)).toMatchObject({ state: "done", lastError: null });
    });

    test("cost their event an attempt, and the last one buries it", async () => {
      const { engine, clock, openAnother, processing } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const claimed = signalled<Claim>();
        processing(
          async (claim) => {
            claimed.give(claim);
            return new Promise(() => undefined);
          },
          { engine: openAnother(`worker ${String(attempt)}`), maximumAttempts: 3 },
        );
        expect((await claimed.promise).attempt).toBe(attempt);
        clock.move(LEASE_MS + 1);
      }
      processing(async () => ({ kind: "done" }), { engine: openAnother("last"), maximumAttempts: 3 });
      const dead = await until(
        () => engine.find(event.id),
        (found) => found?.state === "dead",
      );
      expect(dead).toMatchObject({ attempts: 3, handled: 0, lastError: expect.stringContaining("vanished") });
    });

    test("leave events that are tried alone, so that a deadly one takes no other along", async () => {
      const { engine, clock, openAnother, processing, handled } = await setUp();
      await engine.accept(Array.from({ length: 4 }, () => newEvent()));
      let claims = 0;
      const claimed = signalled();
      processing(async () => {
        claims += 1;
        if (claims === 4) claimed.give();
        return new Promise(() => undefined);
      });
      await claimed.promise;
      clock.move(LEASE_MS + 1);
      await engine.accept(Array.from({ length: 10 }, () => newEvent()));
      let running = 0;
      const companions: number[] = [];
      processing(
        async ({ attempt }) => {
          running += 1;
          if (attempt > 1) companions.push(running);
          await new Promise((resolve) => setImmediate(resolve));
          if (attempt > 1) companions.push(running);
          running -= 1;
          return { kind: "done" };
        },
        { engine: openAnother("other") },
      );
      await until(
        () => handled.length,
        (length) => length === 14,
      );
      expect(companions).toEqual(Array.from({ length: 8 }, () => 1));
    });

    test("have their claims released when they are known to be dead", async () => {
      const { engine, processing } = await setUp();
      const event = newEvent();
      await engine.accept([event]);
      const claimed = signalled();
      processing(async () => {
        claimed.give();
        return new Promise(() => undefined);
      });
      await claimed.promise;
      const limits = { maximumAttempts: 3, backoffMs: () => 60_000 };
      expect(await engine.release("somebody else", limits)).toBe(0);
      expect(await engine.release("worker", limits)).toBe(1);
      expect(await engine.find(event.id)).toMatchObject({ state: "pending", attempts: 1 });
    });

    test("return what they hold when they are told to stop, without it costing an attempt", async () => {
      const { engine, processing } = await setUp();
      const events = [newEvent({ type: "quick" }), newEvent({ type: "endless" })];
      await engine.accept(events);
      const started = signalled();
      const goOn = signalled();
      const processor = processing(async ({ type }) => {
        if (type === "endless") {
          started.give();
          return new Promise(() => undefined);
        }
        await goOn.promise;
        return { kind: "done" };
      });
      await started.promise;
      await until(
        () => engine.counts(),
        ({ byState }) => byState.claimed === 2,
      );
      const drained = processor.drain(300);
      goOn.give();
      await drained;
      expect(await engine.find(events[0]!.id)).toMatchObject({ state: "done" });
      expect(await engine.find(events[1]!.id)).toMatchObject({ state: "pending", attempts: 0 });
    });
  });

  describe(`${name}: a clock that jumps`, () => {
    test.for([-12, -1, 1, 12])("by %i h neither loses nor repeats an event", async (hours) => {
      const { engine, clock, processing, handled } = await setUp();
      const before = newEvent({ receivedAtMs: clock.nowMs() });
      await engine.accept([before]);
      clock.move(hours * 3_600_000);
      const after = newEvent({ receivedAtMs: clock.nowMs() });
      await engine.accept([after]);
      processing(async () => ({ kind: "done" }));
      await until(
        () => handled.length,
        (length) => length === 2,
      );
      expect((await engine.counts()).byState).toMatchObject({ done: 2, pending: 0, claimed: 0 });
    });

    test("back by months does not hold up what waits for its backoff or its lease", async () => {
      const { engine, clock, openAnother, processing, handled } = await setUp();
      const events = [newEvent({ type: "failing" }), newEvent({ type: "held" })];
      await engine.accept(events);
      const claimed = signalled();
      processing(async ({ type }) => {
        if (type === "failing") return { kind: "failed", error: "once" };
        claimed.give();
        return new Promise(() => undefined);
      });
      await claimed.promise;
      await until(
        () => handled.length,
        (length) => length === 1,
      );
      clock.move(-90 * DAY_MS);
      processing(async () => ({ kind: "done" }), { engine: openAnother("other") });
      const counts = await until(
        () => engine.counts(),
        ({ byState }) => byState.done === 2,
      );
      expect(counts.oldestUnfinishedAtMs).toBeNull();
    });
  });

  describe(`${name}: looking and keeping`, () => {
    test("lists the newest first, page by page, by state and by type", async () => {
      const { engine, processing, handled } = await setUp();
      const events = Array.from({ length: 25 }, (_, index) =>
        newEvent({ type: index % 2 === 0 ? "even" : "odd" }),
      );
      await engine.accept(events);
      const ids = events.map(({ id }) => id).toReversed();
      const first = await engine.list({}, { limit: 10 });
      const second = await engine.list({}, { limit: 20, beforeSeq: first.at(-1)!.seq });
      expect([...first, ...second].map(({ id }) => id)).toEqual(ids);
      expect(await engine.list({ type: "odd", state: "pending" }, { limit: 100 })).toHaveLength(12);
      expect(await engine.list({ state: "done" }, { limit: 100 })).toEqual([]);
      processing(async ({ type }) => (type === "odd" ? { kind: "done" } : { kind: "ignored" }));
      await until(
        () => handled.length,
        (length) => length === 25,
      );
      expect(await engine.list({ state: "done" }, { limit: 100 })).toHaveLength(12);
      expect(await engine.list({ state: "ignored", type: "odd" }, { limit: 100 })).toEqual([]);
    });

    test("tells the age of the oldest unfinished event", async () => {
      const { engine, clock, processing, handled } = await setUp();
      expect((await engine.counts()).oldestUnfinishedAtMs).toBeNull();
      const oldAtMs = clock.nowMs() - 5_000;
      await engine.accept([newEvent({ type: "slow", receivedAtMs: oldAtMs }), newEvent()]);
      expect((await engine.counts()).oldestUnfinishedAtMs).toBe(oldAtMs);
      processing(async ({ type }) => (type === "slow" ? { kind: "failed", error: "x" } : { kind: "done" }));
      await until(
        () => handled.length,
        (length) => length === 2,
      );
      expect((await engine.counts()).oldestUnfinishedAtMs).toBe(oldAtMs);
    });

    test("prunes finished events only, and still knows their ids", async () => {
      const { engine, clock, processing, handled } = await setUp();
      const old = clock.nowMs() - 40 * DAY_MS;
      const events = ["done", "ignored", "dead", "waiting"].map((type) =>
        newEvent({ type, receivedAtMs: old }),
      );
      const young = newEvent({ type: "done" });
      await engine.accept([...events, young]);
      processing(async ({ type }): Promise<Outcome> => {
        if (type === "waiting") return { kind: "failed", error: "later" };
        if (type === "dead") return { kind: "dead", error: "hopeless" };
        return { kind: type === "done" ? "done" : "ignored" };
      });
      await until(
        () => handled.length,
        (length) => length === 5,
      );
      const limits = {
        bodiesBeforeMs: clock.nowMs() - 30 * DAY_MS,
        idsBeforeMs: clock.nowMs() - 400 * DAY_MS,
      };
      expect(await engine.prune(limits)).toEqual({ bodies: 2, ids: 0 });
      const states = await Promise.all(events.map(async ({ id }) => (await engine.find(id))?.state));
      expect(states).toEqual(["pruned", "pruned", "dead", "pending"]);
      expect(await engine.find(events[0]!.id)).toMatchObject({ handled: 1, type: null });
      expect(await engine.find(young.id)).toMatchObject({ state: "done" });
      const again = await engine.accept(events);
      expect(again.ok && again.acceptances.every(({ duplicate }) => duplicate)).toBe(true);

      // And the ids in their turn, though never that of an event that is still there.
      expect((await engine.counts()).byState).toEqual({
        pending: 1,
        claimed: 0,
        done: 1,
        ignored: 0,
        dead: 1,
      });
      expect(await engine.check()).toEqual([]);
      expect(await engine.prune({ ...limits, idsBeforeMs: clock.nowMs() - 35 * DAY_MS })).toEqual({
        bodies: 0,
        ids: 2,
      });
      expect(await engine.find(events[0]!.id)).toBeUndefined();
      expect(await engine.find(events[2]!.id)).toMatchObject({ state: "dead" });
      expect(await engine.find(events[3]!.id)).toMatchObject({ state: "pending" });
    });

    test("lets acknowledgements through while it prunes a great deal", async () => {
      const { engine, clock, processing, handled } = await setUp();
      const old = clock.nowMs() - 40 * DAY_MS;
      await engine.accept(Array.from({ length: 1_000 }, () => newEvent({ receivedAtMs: old })));
      processing(async () => ({ kind: "done" }), { concurrency: 100 });
      await until(
        () => handled.length,
        (length) => length === 1_000,
      );
      const pruning = { over: false };
      const pruned = engine.prune({ bodiesBeforeMs: clock.nowMs(), idsBeforeMs: 0 }).finally(() => {
        pruning.over = true;
      });
      let acceptedMeanwhile = 0;
      while (!pruning.over) {
        expect(await engine.accept([newEvent()])).toMatchObject({ ok: true });
        if (!pruning.over) acceptedMeanwhile += 1;
      }
      expect((await pruned).bodies).toBeGreaterThanOrEqual(1_000);
      expect(acceptedMeanwhile).toBeGreaterThan(3);
    });

    test("keeps bookmarks", async () => {
      const { engine, openAnother } = await setUp();
      expect(await engine.bookmarks.get("walk")).toBeUndefined();
      await engine.bookmarks.set("walk", "call_7");
      await engine.bookmarks.set("walk", "call_8");
      expect(await openAnother().bookmarks.get("walk")).toBe("call_8");
      await engine.bookmarks.set("walk", undefined);
      expect(await engine.bookmarks.get("walk")).toBeUndefined();
    });

    test("finds nothing wrong with itself", async () => {
      const { engine } = await setUp();
      await engine.accept([newEvent()]);
      expect(await engine.check()).toEqual([]);
    });

    test("takes nothing any more once it is closed", async () => {
      const { engine } = await setUp();
      await engine.close();
      expect(await engine.accept([newEvent()])).toMatchObject({ ok: false, reason: "closed" });
    });
  });

  async function setUp() {
    const backend = await createBackend();
    const clock = movableClock();
    const handled: Handled[] = [];
    const openAnother = (workerId = "another"): Engine => {
      const opened = backend.open({ clock, workerId, tables: TABLES });
      let closed: Promise<void> | undefined;
      const close = async (): Promise<void> => (closed ??= opened.close());
      onTestFinished(close);
      return { ...opened, close };
    };
    const engine = openAnother("worker");
    const processing = (
      handle: (claim: Claim) => Promise<Outcome>,
      options: Partial<ProcessOptions> & { engine?: Engine } = {},
    ): Processor => {
      const { engine: driven = engine, ...rest } = options;
      const processor = driven.process({
        handle,
        concurrency: 4,
        maximumAttempts: 5,
        backoffMs: () => 60_000,
        onHandled: (one) => void handled.push(one),
        onTrouble: (error) => {
          throw error;
        },
        ...rest,
      });
      onTestFinished(async () => processor.drain(0));
      return processor;
    };
    return { engine, openAnother, clock, handled, processing, rows: backend.rows };
  }
}

function newEvent(overrides: Partial<NewEvent> = {}): NewEvent {
  const id = newEventId();
  return {
    id,
    type: "call.completed",
    objectId: null,
    orderingKey: null,
    source: "webhook",
    receivedAtMs: Date.now(),
    body: Buffer.from(JSON.stringify({ id })),
    ...overrides,
  };
}

async function record(claim: Claim): Promise<void> {
  await claim.atomically(neverAborted())(async (db) => {
    await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
  });
}

function neverAborted(): AbortSignal {
  return new AbortController().signal;
}

function shuffled<Item>(items: readonly Item[], by: number): Item[] {
  return [...items.slice(by % items.length), ...items.slice(0, by % items.length)];
}
