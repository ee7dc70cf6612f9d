import { describe, expect, test } from "vitest";
import type { Claim } from "../../../receiver/engine.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, done, never, newEvent, newEvents, record, setUp, type CreateBackend } from "./harness.ts";

export function describeDraining(name: string, createBackend: CreateBackend): void {
  describe(`${name}: workers that stop`, () => {
    test("let what is running finish, and return the rest without it costing an attempt", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const events = [newEvent({ type: "quick" }), newEvent({ type: "endless" })];
      await accept(engine, events);
      const endless = signalled<Claim>();
      const goOn = signalled();
      const processor = await processing(async (claim) => {
        if (claim.type === "endless") {
          endless.give(claim);
          return never();
        }
        await goOn.promise;
        return { kind: "done" };
      });
      const { signal } = await endless.promise;
      await until(
        () => engine.ledger.counts(),
        ({ byState }) => byState.claimed === 2,
      );
      const drained = processor.drain(300);
      goOn.give();
      await ended(1);
      await drained;
      expect(signal.aborted).toBe(true);
      expect(await engine.ledger.find(events[0]!.id)).toMatchObject({ state: "done", attempts: 1 });
      expect(await engine.ledger.find(events[1]!.id)).toMatchObject({
        state: "pending",
        attempts: 0,
        lastError: null,
      });
      await processing(done);
      expect((await ended(2))[1]).toMatchObject({ id: events[1]!.id, attempt: 1, outcome: "done" });
    });

    test("claim nothing more", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const processor = await processing(done);
      await ended(1);
      await processor.drain(1_000);
      const event = newEvent();
      await accept(engine, [event]);
      const other = await open();
      await processing(done, { engine: other, workerId: "the other" });
      await ended(2);
      expect((await other.ledger.counts()).byState).toMatchObject({ done: 2, pending: 0, claimed: 0 });
    });

    test("return what they had claimed and not begun", async () => {
      const { engine, processing } = await setUp(createBackend);
      await accept(engine, [...newEvents(100), ...newEvents(100, { type: "long" })]);
      let begun = 0;
      const processor = await processing(
        // Quick at first, so that an engine that claims ahead does so.
        async ({ type }) => {
          if (type !== "long") return { kind: "done" };
          begun += 1;
          return never();
        },
        { concurrency: 3 },
      );
      await until(
        () => begun,
        (running) => running === 3,
      );
      await processor.drain(0);
      expect((await engine.ledger.counts()).byState).toMatchObject({ pending: 100, claimed: 0 });
      const found = await engine.ledger.list({ type: "long" }, { limit: 100 });
      expect(found.filter(({ attempts, lastError }) => attempts !== 0 || lastError !== null)).toEqual([]);
    });

    test("can change nothing by what ends after the grace", async () => {
      const { engine, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const claimed = signalled();
      const goOn = signalled();
      const late = signalled<string>();
      const processor = await processing(async (claim) => {
        claimed.give();
        await goOn.promise;
        await record(claim).catch((error: unknown) => late.give(String(error)));
        return { kind: "done" };
      });
      await claimed.promise;
      await processor.drain(0);
      goOn.give();
      await late.promise;
      await processing(record);
      await until(
        () => engine.ledger.find(event.id),
        (found) => found?.state === "done",
      );
      await ended(1);
      expect(await rows("SELECT attempt FROM effects")).toEqual([{ attempt: 1 }]);
      expect(await engine.ledger.find(event.id)).toMatchObject({ attempts: 1, handled: 1 });
    });

    test("write down as failed what is certain to have failed though it runs, and give the others back", async () => {
      const { engine, processing } = await setUp(createBackend);
      const [failed, innocent] = newEvents(2);
      await accept(engine, [failed!, innocent!]);
      const both = signalled();
      let running = 0;
      const processor = await processing(async () => {
        running += 1;
        if (running === 2) both.give();
        return new Promise(() => undefined);
      });
      await both.promise;
      await processor.drain(0, [{ handler: "everything", id: failed!.id, error: "over its time" }]);
      expect(await engine.ledger.find(failed!.id)).toMatchObject({
        state: "pending",
        attempts: 1,
        lastError: "over its time",
      });
      expect(await engine.ledger.find(innocent!.id)).toMatchObject({ state: "pending", attempts: 0 });
    });
  });
}
