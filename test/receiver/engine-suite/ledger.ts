import { describe, expect, test } from "vitest";
import type { Claim, Outcome } from "../../../receiver/engine.ts";
import { newEventId } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import { accept, done, handler, newEvent, newEvents, setUp, type CreateBackend } from "./harness.ts";

export function describeLedger(name: string, createBackend: CreateBackend): void {
  describe(`${name}: looking and requeueing`, () => {
    test("lists the newest first, page by page, by state and by type", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const events = Array.from({ length: 25 }, (_, index) =>
        newEvent({ type: index % 2 === 0 ? "even" : "odd" }),
      );
      await accept(engine, events);
      const ids = events.map(({ id }) => id).toReversed();
      const { ledger } = engine;
      const first = await ledger.list({}, { limit: 10 });
      const second = await ledger.list({}, { limit: 20, beforeSeq: first.at(-1)!.seq });
      expect([...first, ...second].map(({ id }) => id)).toEqual(ids);
      const oldest = await ledger.list({}, { limit: 10, afterSeq: 0 });
      const older = await ledger.list({ type: "odd" }, { limit: 100, afterSeq: oldest.at(-1)!.seq });
      expect(oldest.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 10));
      expect(older.map(({ id }) => id)).toEqual(ids.toReversed().filter((_, at) => at > 9 && at % 2 === 1));
      expect(first[0]).toEqual(await ledger.find(ids[0]!));
      expect(await ledger.list({ type: "odd", state: "pending" }, { limit: 100 })).toHaveLength(12);
      expect(await ledger.list({ type: "odd" }, { limit: 5 })).toHaveLength(5);
      expect(await ledger.list({ state: "done" }, { limit: 100 })).toEqual([]);
      expect(await ledger.list({ state: "pruned" }, { limit: 100 })).toEqual([]);
      await processing(done, { handlers: [handler({ types: ["odd"] })] });
      await ended(12);
      await until(
        () => ledger.counts(),
        ({ byState }) => byState.ignored === 13,
      );
      expect(await ledger.list({ state: "done" }, { limit: 100 })).toHaveLength(12);
      expect(await ledger.list({ state: "ignored", type: "odd" }, { limit: 100 })).toEqual([]);
      const even = ids.filter((_, at) => at % 2 === 0);
      const down = await ledger.list({ state: "ignored" }, { limit: 5 });
      const further = await ledger.list({ state: "ignored" }, { limit: 100, beforeSeq: down.at(-1)!.seq });
      expect([...down, ...further].map(({ id }) => id)).toEqual(even);
      const up = await ledger.list({ state: "ignored" }, { limit: 5, afterSeq: 0 });
      const rest = await ledger.list({ state: "ignored" }, { limit: 100, afterSeq: up.at(-1)!.seq });
      expect([...up, ...rest].map(({ id }) => id)).toEqual(even.toReversed());
      expect((await ledger.counts()).byState).toEqual({
        pending: 0,
        claimed: 0,
        done: 12,
        ignored: 13,
        dead: 0,
      });
    });

    test("requeues the dead and the ignored with all their attempts, and nothing else", async () => {
      const { engine, processing, ended } = await setUp(createBackend, { backoffMs: () => 0 });
      const events = ["dead", "ignored", "done"].map((type) => newEvent({ type }));
      await accept(engine, events);
      let mended = false;
      const handle = async ({ type }: Claim): Promise<Outcome> =>
        mended || type === "done" ? { kind: "done" } : { kind: "failed", error: "broken" };
      const first = await processing(handle, {
        handlers: [handler({ types: ["dead", "done"], backoffMs: () => 0 })],
      });
      // Five attempts of one and one of another.
      await ended(6);
      await first.drain(0);
      mended = true;
      await processing(handle);
      const ids = events.map(({ id }) => id);
      expect(
        await engine.ledger.requeue([...ids, ids[0]!.toUpperCase().replace("EVT_", "evt_"), newEventId()]),
      ).toBe(2);
      await ended(8);
      for (const id of ids) {
        expect(await engine.ledger.find(id)).toMatchObject({
          state: "done",
          attempts: 1,
          handled: 1,
          lastError: null,
        });
      }
      expect(await engine.ledger.requeue([])).toBe(0);
    });

    test("lists every dead event once, however many of its jobs are dead", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const events = newEvents(300);
      await accept(engine, events);
      await processing(async () => ({ kind: "dead", error: "hopeless" }), {
        concurrency: 50,
        handlers: [handler({ name: "crm" }), handler({ name: "store" })],
      });
      await ended(600);
      const ids = events.map(({ id }) => id);
      for (const [order, page] of [
        [ids.toReversed(), { limit: 1_000 }],
        [ids, { limit: 1_000, afterSeq: 0 }],
      ] as const) {
        expect((await engine.ledger.list({ state: "dead" }, page)).map(({ id }) => id)).toEqual(order);
      }
    });

    test("requeues what was ignored since its handler was gone, once that is there again", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const [event] = newEvents(1);
      await accept(engine, [event!]);
      const handlers = [handler({ name: "gone", backoffMs: () => 3_600_000 })];
      const first = await processing(async () => ({ kind: "failed", error: "broken" }), { handlers });
      await ended(1);
      await first.drain(0);
      const second = await processing(done, { handlers: [handler({ name: "another", types: ["another"] })] });
      await until(
        () => engine.ledger.find(event!.id),
        (found) => found?.state === "ignored",
      );
      await second.drain(0);
      await processing(done, { handlers });
      expect(await engine.ledger.requeue([event!.id])).toBe(1);
      await ended(2);
      const jobs = [{ handler: "gone", state: "done", attempts: 1 }];
      expect(await engine.ledger.find(event!.id)).toMatchObject({ state: "done", jobs });
    });

    test("requeues a thousand", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const events = newEvents(1_000);
      await accept(engine, events);
      const first = await processing(async () => ({ kind: "dead", error: "hopeless" }), { concurrency: 50 });
      await ended(1_000);
      await first.drain(0);
      expect(await engine.ledger.requeue(events.map(({ id }) => id))).toBe(1_000);
      expect((await engine.ledger.counts()).byState).toMatchObject({ pending: 1_000, dead: 0 });
      await processing(done, { concurrency: 50 });
      await ended(2_000);
    });

    test("keeps bookmarks", async () => {
      const { engine, open } = await setUp(createBackend);
      expect(await engine.ledger.bookmark("walk")).toBeUndefined();
      await engine.ledger.setBookmark("walk", "call_7");
      await engine.ledger.setBookmark("walk", "call_8");
      const other = await open();
      expect(await other.ledger.bookmark("walk")).toBe("call_8");
      expect(await other.ledger.bookmark("another walk")).toBeUndefined();
      await engine.ledger.setBookmark("walk", undefined);
      expect(await other.ledger.bookmark("walk")).toBeUndefined();
    });

    test("finds nothing wrong with itself", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      await accept(engine, newEvents(3));
      await processing(done);
      await ended(3);
      expect((await engine.ledger.check?.()) ?? []).toEqual([]);
    });

    test("tells the time of its database", async () => {
      const { engine, open } = await setUp(createBackend);
      const other = await open();
      const first = await engine.nowMs();
      const second = await other.nowMs();
      expect(second).toBeGreaterThanOrEqual(first - 1);
      expect(second - first).toBeLessThan(10_000);
    });
  });
}
