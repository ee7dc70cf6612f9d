import { describe, expect, test } from "vitest";
import { LEASE_MS, type Claim, type Outcome } from "../../../receiver/engine.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, done, never, newEvent, record, setUp, type CreateBackend } from "./harness.ts";

/** A worker vanishes by being suspended: its machine stands still, and may come back when nobody expects it. */
export function describeLate(name: string, createBackend: CreateBackend): void {
  describe(`${name}: workers that come back late`, () => {
    test("have their event taken up when the lease is over, not before, and can change nothing afterwards", async () => {
      const { engine, open, pass, processing, ended, handled, rows } = await setUp(createBackend);
      const event = newEvent({ type: "held" });
      await accept(engine, [event]);
      const claimed = signalled<Claim>();
      const goOn = signalled();
      const late = signalled<string>();
      await processing(async (claim) => {
        claimed.give(claim);
        await goOn.promise;
        await record(claim).catch((error: unknown) => late.give((error as Error).name));
        return { kind: "done" };
      });
      await claimed.promise;
      await engine.suspend();

      await pass(LEASE_MS - 10_000);
      const other = await open();
      await processing(record, { engine: other });
      // Once the other worker has handled something new, it has looked and left the held one alone.
      await accept(other, [newEvent()]);
      await ended(1);
      expect(await other.ledger.find(event.id)).toMatchObject({ state: "claimed", attempts: 1 });
      await pass(10_001);
      await ended(2);
      expect(await other.ledger.find(event.id)).toMatchObject({ state: "done", attempts: 2 });
      goOn.give();
      expect(await late.promise).toBe("LeaseLost");
      await ended(3);
      expect(handled.map(({ outcome }) => outcome)).toEqual(["done", "done", "lost"]);
      expect(await rows(`SELECT attempt FROM effects WHERE event_id = '${event.id}'`)).toEqual([
        { attempt: 2 },
      ]);
      expect(await other.ledger.find(event.id)).toMatchObject({ state: "done", handled: 1, attempts: 2 });
    });

    test("can't turn a finished event back with a late done, later, dead or failed", async () => {
      const { engine, open, pass, processing, ended, handled } = await setUp(createBackend);
      const late: Outcome[] = [
        { kind: "done" },
        { kind: "later", reason: "late", delayMs: 0 },
        { kind: "dead", error: "late" },
        { kind: "failed", error: "late" },
      ];
      const events = late.map(({ kind }) => newEvent({ type: kind }));
      await accept(engine, events);
      const claimed = signalled();
      const goOn = signalled();
      let claims = 0;
      await processing(async ({ type }) => {
        claims += 1;
        if (claims === late.length) claimed.give();
        await goOn.promise;
        return late.find(({ kind }) => kind === type)!;
      });
      await claimed.promise;
      await engine.suspend();
      await pass(LEASE_MS + 1);
      const other = await open();
      await processing(done, { engine: other });
      await ended(late.length);
      const look = async () => Promise.all(events.map(({ id }) => other.ledger.find(id)));
      const before = await look();
      expect(before.map((event) => event?.state)).toEqual(late.map(() => "done"));
      goOn.give();
      await ended(2 * late.length);
      expect(handled.slice(late.length).map(({ outcome }) => outcome)).toEqual(late.map(() => "lost"));
      expect(await look()).toEqual(before);
    });

    test("can't touch an event that they hold again themselves, or that was requeued since", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend, { maximumAttempts: 1 });
      const event = newEvent();
      await accept(engine, [event]);
      const claimed = signalled<Claim>();
      const goOn = signalled();
      const late = signalled<string>();
      await processing(async (claim) => {
        claimed.give(claim);
        await goOn.promise;
        await record(claim).catch((error: unknown) => late.give((error as Error).name));
        return { kind: "failed", error: "late" };
      });
      await claimed.promise;
      await engine.suspend();
      await pass(LEASE_MS + 1);
      const other = await open();
      const second = signalled<Claim>();
      const leave = signalled();
      await processing(
        async (claim) => {
          second.give(claim);
          await leave.promise;
          return record(claim);
        },
        { engine: other },
      );
      await until(
        () => other.ledger.find(event.id),
        (found) => found?.state === "dead",
      );
      expect(await other.ledger.requeue([event.id])).toBe(1);
      // With all its attempts before it, so that only the fencing token tells the two claims apart.
      expect((await second.promise).attempt).toBe(1);
      goOn.give();
      expect(await late.promise).toBe("LeaseLost");
      expect(await ended(1)).toMatchObject([{ outcome: "lost" }]);
      leave.give();
      expect((await ended(2))[1]).toMatchObject({ outcome: "done" });
      expect(await other.ledger.find(event.id)).toMatchObject({ state: "done", attempts: 1, handled: 1 });
    });

    test("hear through their signal that they lost their claim", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent()]);
      const claimed = signalled<Claim>();
      await processing(async (claim) => {
        claimed.give(claim);
        return never();
      });
      const { signal } = await claimed.promise;
      await engine.suspend();
      await pass(LEASE_MS + 1);
      await processing(done, { engine: await open() });
      await ended(1);
      expect(signal.aborted).toBe(false);
      engine.resume();
      await until(
        () => signal.aborted,
        (aborted) => aborted,
      );
      expect(signal.reason).toMatchObject({ name: "LeaseLost" });
    });

    test("keep what nobody has taken, however long they slept", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const claimed = signalled<Claim>();
      const goOn = signalled();
      await processing(async (claim) => {
        claimed.give(claim);
        await goOn.promise;
        return { kind: "done" };
      });
      const { signal } = await claimed.promise;
      await engine.suspend();
      await pass(12 * 3_600_000);
      engine.resume();
      // Once the worker has handled something new, it has looked at its leases.
      await accept(engine, [newEvent()]);
      await until(
        () => engine.ledger.counts(),
        ({ byState }) => byState.claimed === 2,
      );
      expect(signal.aborted).toBe(false);
      goOn.give();
      expect((await ended(2)).map(({ outcome, attempt }) => `${outcome} ${String(attempt)}`)).toEqual([
        "done 1",
        "done 1",
      ]);
      expect(await engine.ledger.find(event.id)).toMatchObject({ state: "done", attempts: 1, handled: 1 });
    });
  });
}
