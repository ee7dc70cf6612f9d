import { describe, expect, test } from "vitest";
import type { Claim, Outcome } from "../../../receiver/engine.ts";
import { until } from "../helpers/until.ts";
import { accept, done, handler, newEvent, newEvents, record, setUp, type CreateBackend } from "./harness.ts";

/** An event has a job for each handler that wants it. */
export function describeFanOut(name: string, createBackend: CreateBackend): void {
  describe(`${name}: several handlers of one event`, () => {
    test("gives each handler that wants the type a job of its own, and no other", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const events = ["order.created", "call.completed", "unknown"].map((type) => newEvent({ type }));
      await accept(engine, events);
      const seen: string[] = [];
      await processing(
        async ({ handler: name, type }) => {
          seen.push(`${name}: ${type}`);
          return { kind: "done" };
        },
        {
          handlers: [
            handler({ name: "kitchen", types: ["order.created"] }),
            handler({ name: "crm", types: ["order.created", "call.completed"] }),
            handler({ name: "archive", types: "*" }),
          ],
        },
      );
      await ended(6);
      expect(seen.toSorted()).toEqual([
        "archive: call.completed",
        "archive: order.created",
        "archive: unknown",
        "crm: call.completed",
        "crm: order.created",
        "kitchen: order.created",
      ]);
      const order = await engine.ledger.find(events[0]!.id);
      expect(order).toMatchObject({ state: "done", handled: 1, attempts: 1 });
      expect(order!.jobs.map((job) => [job.handler, job.state, job.handled])).toEqual([
        ["archive", "done", 1],
        ["crm", "done", 1],
        ["kitchen", "done", 1],
      ]);
      expect((await engine.ledger.counts()).byState).toMatchObject({ done: 3, pending: 0, ignored: 0 });
    });

    test("lets one fail without the others being called again, and the event wait for it", async () => {
      const { engine, pass, processing, ended, rows } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      await processing(
        async (claim) =>
          claim.handler === "crm" && claim.attempt === 1
            ? { kind: "failed", error: "crm down" }
            : record(claim),
        { handlers: [handler({ name: "store" }), handler({ name: "crm", backoffMs: () => 60_000 })] },
      );
      await ended(2);
      const waiting = await engine.ledger.find(event.id);
      expect(waiting).toMatchObject({ state: "pending", handled: 0, lastError: "crm down", attempts: 1 });
      expect(waiting!.jobs).toMatchObject([
        { handler: "crm", state: "pending", attempts: 1, handled: 0, lastError: "crm down", deferred: false },
        { handler: "store", state: "done", attempts: 1, handled: 1, lastError: null },
      ]);
      expect(waiting!.nextAttemptAtMs).toBe(waiting!.jobs[0]!.nextAttemptAtMs);
      await pass(60_000);
      await ended(3);
      expect(await engine.ledger.find(event.id)).toMatchObject({ state: "done", handled: 1, attempts: 2 });
      expect(await rows("SELECT attempt FROM effects ORDER BY attempt")).toEqual([
        { attempt: 1 },
        { attempt: 2 },
      ]);
    });

    test("that was requeued is due at once, and not since before it came", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const processor = await processing(async (): Promise<Outcome> => ({ kind: "dead", error: "no" }));
      await ended(1);
      await processor.drain(0);
      expect(await engine.ledger.requeue([event.id])).toBe(1);
      const found = await engine.ledger.find(event.id);
      const due = found!.nextAttemptAtMs! - found!.receivedAtMs;
      expect(due).toBeGreaterThanOrEqual(0);
      expect(found!.nextAttemptAtMs).toBeLessThanOrEqual(await engine.nowMs());
    });

    test("is dead when one of its jobs is, and only that one is requeued, by name or not", async () => {
      const { engine, processing, handled, ended } = await setUp(createBackend);
      const events = newEvents(2);
      await accept(engine, events);
      let mended = false;
      await processing(
        async (claim): Promise<Outcome> =>
          claim.handler === "crm" && !mended ? { kind: "dead", error: "no such customer" } : { kind: "done" },
        { handlers: [handler({ name: "store" }), handler({ name: "crm" })] },
      );
      await ended(4);
      const dead = await engine.ledger.find(events[0]!.id);
      expect(dead).toMatchObject({ state: "dead", handled: 0, lastError: "no such customer" });
      const { ledger } = engine;
      expect((await ledger.counts()).byState).toMatchObject({ dead: 2, done: 0, pending: 0 });
      expect((await ledger.counts()).byHandler.find((one) => one.handler === "crm")).toEqual({
        handler: "crm",
        pending: 0,
        claimed: 0,
        dead: 2,
        ignored: 0,
      });
      expect(await ledger.list({ handler: "crm", state: "dead" }, { limit: 10 })).toHaveLength(2);
      expect(await ledger.list({ handler: "store", state: "dead" }, { limit: 10 })).toEqual([]);
      expect(await ledger.list({ handler: "store", state: "done" }, { limit: 10 })).toHaveLength(2);
      expect(await ledger.list({ handler: "nobody" }, { limit: 10 })).toEqual([]);
      mended = true;
      expect(await ledger.requeue([events[0]!.id], "store")).toBe(0);
      expect(await ledger.requeue([events[0]!.id], "nobody")).toBe(0);
      expect(await ledger.requeue([events[0]!.id], "crm")).toBe(1);
      expect(await ledger.requeue([events[1]!.id])).toBe(1);
      await ended(6);
      expect(handled.slice(4).map((one) => [one.handler, one.outcome, one.attempt])).toEqual([
        ["crm", "done", 1],
        ["crm", "done", 1],
      ]);
      const counts = await until(
        () => ledger.counts(),
        ({ byState }) => byState.done === 2,
      );
      expect(counts.byState).toMatchObject({ dead: 0, pending: 0 });
    });

    test("gives a new handler what came before it only when asked, once, and only what it wants", async () => {
      const { engine, processing, handled, ended } = await setUp(createBackend);
      const events = [newEvent({ type: "order.created" }), newEvent({ type: "call.completed" })];
      await accept(engine, events);
      const first = await processing(done, { handlers: [handler({ name: "store" })] });
      await ended(2);
      await first.drain(0);
      await processing(done, {
        handlers: [handler({ name: "store" }), handler({ name: "crm", types: ["order.created"] })],
      });
      await accept(engine, [newEvent({ type: "call.completed" })]);
      await ended(3);
      expect((await engine.ledger.find(events[0]!.id))!.jobs.map((job) => job.handler)).toEqual(["store"]);
      const ids = events.map(({ id }) => id);
      expect(await engine.ledger.requeue(ids, "crm")).toBe(1);
      await ended(4);
      expect(await engine.ledger.requeue(ids, "crm")).toBe(0);
      expect(handled[3]).toMatchObject({ handler: "crm", id: ids[0], outcome: "done", attempt: 1 });
      const asked = await engine.ledger.find(ids[0]!);
      expect(asked).toMatchObject({ state: "done", handled: 1 });
      expect(asked!.jobs.map((job) => job.handler)).toEqual(["crm", "store"]);
    });

    test("is not ignored any more once a new handler has been given it", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const event = newEvent({ type: "order.created" });
      await accept(engine, [event]);
      const counted = async (state: "ignored" | "done") =>
        until(
          async () => (await engine.ledger.counts()).byState,
          (byState) => byState[state] === 1,
        );
      const first = await processing(done, { handlers: [handler({ types: ["call.completed"] })] });
      await counted("ignored");
      await first.drain(0);
      await processing(done, { handlers: [handler({ name: "crm", types: ["order.created"] })] });
      expect(await engine.ledger.requeue([event.id], "crm")).toBe(1);
      await ended(1);
      expect(await counted("done")).toEqual({ pending: 0, claimed: 0, done: 1, ignored: 0, dead: 0 });
      expect(await engine.ledger.list({ state: "ignored" }, { limit: 10 })).toEqual([]);
    });

    test("ends as ignored what waits for a handler that is gone, and has it back when that is", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const both = [handler({ name: "store" }), handler({ name: "crm" })];
      const first = await processing(
        async (claim) => (claim.handler === "crm" ? { kind: "failed", error: "down" } : { kind: "done" }),
        { handlers: both },
      );
      await ended(2);
      await first.drain(0);
      const second = await processing(done, { handlers: both.slice(0, 1) });
      const found = await engine.ledger.find(event.id);
      expect(found).toMatchObject({ state: "done", handled: 1 });
      expect(found!.jobs).toMatchObject([
        { handler: "crm", state: "ignored", attempts: 1 },
        { handler: "store", state: "done" },
      ]);
      expect((await engine.ledger.handlers()).map((one) => one.name)).toEqual(["store"]);
      expect(await engine.ledger.list({ handler: "crm", state: "ignored" }, { limit: 10 })).toHaveLength(1);
      // A new event is none of its business.
      const later = newEvent();
      await accept(engine, [later]);
      await ended(3);
      expect((await engine.ledger.find(later.id))!.jobs).toHaveLength(1);
      await second.drain(0);
      await processing(done, { handlers: both });
      expect(await engine.ledger.requeue([event.id], "crm")).toBe(1);
      expect((await ended(4))[3]).toMatchObject({ handler: "crm", outcome: "done", attempt: 1 });
    });

    test("makes names and types known to whoever looks", async () => {
      const { engine, open, processing } = await setUp(createBackend);
      expect(await engine.ledger.handlers()).toEqual([]);
      await processing(done, {
        handlers: [
          handler({ name: "crm", types: ["order.created", "call.completed"] }),
          handler({ name: "archive", types: "*" }),
        ],
      });
      const other = await open();
      const known = await other.ledger.handlers();
      expect(known.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
        { name: "archive", types: "*" },
        { name: "crm", types: ["order.created", "call.completed"] },
      ]);
    });

    test("hands on what the request said of itself, and when the job began to wait", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const trace = {
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        requestId: "r_1",
      };
      const [traced, plain] = [newEvent({ trace }), newEvent()];
      await accept(engine, [traced, plain]);
      const claims: Claim[] = [];
      await processing(async (claim) => {
        claims.push(claim);
        return claims.length < 3 ? { kind: "dead", error: "no" } : { kind: "done" };
      });
      await ended(2);
      const of = (id: string): Claim => claims.findLast((claim) => claim.id === id)!;
      expect(of(traced.id).trace).toEqual(trace);
      expect(of(plain.id).trace).toBeNull();
      expect(of(traced.id).waitingSinceMs).toBe(of(traced.id).receivedAtMs);
      await pass(3_600_000);
      await engine.ledger.requeue([traced.id]);
      await ended(3);
      const { waitingSinceMs, receivedAtMs } = of(traced.id);
      expect(waitingSinceMs - receivedAtMs).toBeGreaterThanOrEqual(3_600_000 - 1);
      expect(waitingSinceMs - receivedAtMs).toBeLessThan(3_660_000);
    });
  });
}
