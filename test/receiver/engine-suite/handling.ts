import { describe, expect, test } from "vitest";
import type { Claim, Outcome } from "../../../receiver/engine.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, done, handler, newEvent, newEvents, setUp, type CreateBackend } from "./harness.ts";

export function describeHandling(name: string, createBackend: CreateBackend): void {
  describe(`${name}: handling`, () => {
    test("hands every event out once, and it ends as done", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const events = newEvents(300);
      await accept(engine, events);
      const seen: string[] = [];
      await processing(async (claim) => {
        seen.push(claim.id);
        return { kind: "done" };
      });
      await ended(events.length);
      expect(seen.toSorted()).toEqual(events.map(({ id }) => id).toSorted());
      const found = await engine.ledger.find(events[0]!.id);
      expect(found).toMatchObject({ state: "done", handled: 1, attempts: 1, nextAttemptAtMs: null });
      expect(found!.finishedAtMs).toBeGreaterThanOrEqual(found!.receivedAtMs);
      expect((await engine.ledger.counts()).byState).toMatchObject({ done: 300, pending: 0, claimed: 0 });
    });

    test("hands out the event as it came, and reports how it ended", async () => {
      const { engine, processing, handled } = await setUp(createBackend);
      const event = newEvent({ type: "order.created", body: Buffer.from('{"ü":"\u0000\\u0000 😀"}') });
      await accept(engine, [event]);
      const seen = signalled<Claim>();
      await processing(async (claim) => {
        seen.give(claim);
        expect(claim.signal.aborted).toBe(false);
        expect(await engine.ledger.find(event.id)).toMatchObject({ state: "claimed", attempts: 1 });
        return { kind: "done" };
      });
      const claim = await seen.promise;
      const { receivedAtMs } = (await engine.ledger.find(event.id))!;
      expect(claim).toMatchObject({ id: event.id, type: "order.created", attempt: 1, receivedAtMs });
      expect(claim.body).toBe('{"ü":"\u0000\\u0000 😀"}');
      await until(
        () => handled,
        ({ length }) => length === 1,
      );
      expect(handled[0]).toEqual({
        handler: "everything",
        id: event.id,
        type: "order.created",
        attempt: 1,
        outcome: "done",
        durationMs: expect.any(Number),
      });
    });

    test("takes up what another process accepts while it has nothing to do", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      await processing(done, { engine: await open() });
      await accept(engine, [newEvent()]);
      await ended(1);
      await accept(engine, [newEvent()]);
      expect(await ended(2)).toMatchObject([{ outcome: "done" }, { outcome: "done" }]);
    });

    test("handles what several workers share exactly once each", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      const seen: string[] = [];
      const handle = async (claim: Claim): Promise<Outcome> => {
        seen.push(claim.id);
        return { kind: "done" };
      };
      const others = [await open(), await open()];
      for (const other of [engine, ...others]) await processing(handle, { engine: other });
      const batches = Array.from({ length: 15 }, () => newEvents(20));
      for (const batch of batches) await accept(engine, batch);
      await ended(300);
      expect(seen.toSorted()).toEqual(
        batches
          .flat()
          .map(({ id }) => id)
          .toSorted(),
      );
      const found = await engine.ledger.list({}, { limit: 1_000 });
      expect(found.filter(({ handled, attempts }) => handled !== 1 || attempts !== 1)).toEqual([]);
    });

    test("handles as many at the same time as it may, and never more", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      let running = 0;
      let most = 0;
      const full = signalled();
      await accept(engine, newEvents(40));
      await processing(
        async () => {
          running += 1;
          most = Math.max(most, running);
          if (running === 5) full.give();
          await full.promise;
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          return { kind: "done" };
        },
        { concurrency: 5 },
      );
      await ended(40);
      expect(most).toBe(5);
    });

    test("is not held up by a handler that takes long", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const goOn = signalled();
      await accept(engine, [newEvent({ type: "slow" }), ...newEvents(30)]);
      await processing(
        async ({ type }) => {
          if (type === "slow") await goOn.promise;
          return { kind: "done" };
        },
        { concurrency: 2 },
      );
      await ended(30);
      goOn.give();
      expect((await ended(31))[30]).toMatchObject({ type: "slow", outcome: "done" });
    });

    test("ends as ignored what nobody handles", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      await processing(done, { handlers: [handler({ types: ["order.created"] })] });
      await accept(engine, [newEvent({ type: "order.created" })]);
      await ended(1);
      const ignored = await engine.ledger.find(event.id);
      expect(ignored).toMatchObject({ state: "ignored", handled: 0, attempts: 0, jobs: [] });
    });
  });
}
