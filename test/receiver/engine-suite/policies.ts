import { describe, expect, test } from "vitest";
import type { Claim, Outcome } from "../../../receiver/engine.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, done, handler, newEvent, newEvents, setUp, type CreateBackend } from "./harness.ts";

export function describePolicies(name: string, createBackend: CreateBackend): void {
  describe(`${name}: policies of a handler`, () => {
    test("later uses up no attempt and is shown as deferred, not as failed", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend, { maximumAttempts: 2 });
      const event = newEvent();
      await accept(engine, [event]);
      let closed = true;
      await processing(async () =>
        closed ? { kind: "later", reason: "office hours", delayMs: 3_600_000 } : { kind: "done" },
      );
      for (const round of [1, 2, 3]) {
        expect((await ended(round))[round - 1]).toMatchObject({ outcome: "later", attempt: 1 });
        const found = (await engine.ledger.find(event.id))!;
        expect(found).toMatchObject({ state: "pending", attempts: 0 });
        expect(found.jobs).toMatchObject([{ deferred: true, lastError: "office hours" }]);
        expect(found.deferredUntilMs).toBe(found.nextAttemptAtMs);
        const waitMs = found.deferredUntilMs! - (await engine.nowMs());
        expect(waitMs).toBeGreaterThan(3_590_000);
        expect(waitMs).toBeLessThanOrEqual(3_600_000);
        if (round === 3) closed = false;
        await pass(3_600_000);
      }
      expect((await ended(4))[3]).toMatchObject({ outcome: "done", attempt: 1 });
      expect(await engine.ledger.find(event.id)).toMatchObject({ deferredUntilMs: null, lastError: null });
    });

    test("a failure after later counts as the first, and is deferred no more", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      let calls = 0;
      await processing(async (): Promise<Outcome> => {
        calls += 1;
        return calls === 1
          ? { kind: "later", reason: "busy", delayMs: 0 }
          : { kind: "failed", error: "down" };
      });
      expect(await ended(2)).toMatchObject([{ attempt: 1 }, { attempt: 1, outcome: "failed" }]);
      expect((await engine.ledger.find(event.id))!).toMatchObject({
        attempts: 1,
        lastError: "down",
        deferredUntilMs: null,
      });
    });

    test("each handler has its own attempts and its own backoff", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      await processing(async () => ({ kind: "failed", error: "down" }), {
        handlers: [
          handler({ name: "once", maximumAttempts: 1 }),
          handler({ name: "soon", maximumAttempts: 2, backoffMs: () => 10_000 }),
          handler({ name: "slowly", backoffMs: () => 100_000 }),
        ],
      });
      const first = await ended(3);
      expect(new Map(first.map((one) => [one.handler, one.outcome]))).toEqual(
        new Map([
          ["once", "dead"],
          ["soon", "failed"],
          ["slowly", "failed"],
        ]),
      );
      await pass(10_000);
      expect((await ended(4))[3]).toMatchObject({ handler: "soon", outcome: "dead", attempt: 2 });
      expect((await engine.ledger.find(event.id))!.state).toBe("pending");
    });

    test("a handler's concurrency holds for it alone, and leaves the slots to the others", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const running = new Map<string, number>();
      const most = new Map<string, number>();
      const goOn = signalled();
      await accept(engine, newEvents(12));
      await processing(
        async ({ handler: name }) => {
          running.set(name, (running.get(name) ?? 0) + 1);
          most.set(name, Math.max(most.get(name) ?? 0, running.get(name) ?? 0));
          if (name === "narrow") await goOn.promise;
          await new Promise((resolve) => setImmediate(resolve));
          running.set(name, (running.get(name) ?? 0) - 1);
          return { kind: "done" };
        },
        {
          concurrency: 6,
          handlers: [handler({ name: "narrow", concurrency: 2 }), handler({ name: "wide" })],
        },
      );
      // All of one, while the other's two are stuck.
      const ends = await ended(12);
      expect(new Set(ends.map((one) => one.handler))).toEqual(new Set(["wide"]));
      goOn.give();
      await ended(24);
      expect(most.get("narrow")).toBe(2);
    });

    test("no more attempts begin than the rate limit says, of all workers together", async () => {
      const { engine, open, pass, processing, handled, ended } = await setUp(createBackend);
      await accept(engine, [...newEvents(7, { type: "limited" }), ...newEvents(5, { type: "free" })]);
      const handlers = [
        handler({ name: "limited", types: ["limited"], rateLimit: { limit: 3, perMs: 3_600_000 } }),
        handler({ name: "free", types: ["free"] }),
      ];
      const other = await open();
      await processing(done, { handlers });
      await processing(done, { handlers, engine: other });
      const limited = (): number => handled.filter((one) => one.handler === "limited").length;
      let free = 5;
      for (const expected of [3, 6, 7]) {
        await ended(free + expected);
        // Once both workers have had many new ones to handle, they have looked at the others too.
        await accept(engine, newEvents(20, { type: "free" }));
        free += 20;
        await ended(free + expected);
        expect(limited()).toBe(expected);
        await pass(3_600_001);
      }
    });

    test("a rate holds for any such time, wherever it begins", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      const limited = [handler({ rateLimit: { limit: 3, perMs: 400 } })];
      const begunAtMs: number[] = [];
      const handle = async (): Promise<Outcome> => {
        begunAtMs.push(performance.now());
        return { kind: "done" };
      };
      await accept(engine, newEvents(10));
      await processing(handle, { handlers: limited });
      await processing(handle, { engine: await open(), handlers: limited });
      await ended(10);
      const gaps = begunAtMs.slice(3).map((atMs, index) => atMs - (begunAtMs[index] ?? 0));
      // A begin may come a little later than the moment that counts.
      expect(Math.min(...gaps)).toBeGreaterThan(300);
    });

    test("jobs with one key run one after the other, in the order of their events, beside those with others", async () => {
      const { engine, processing, handled, ended } = await setUp(createBackend);
      const events = Array.from({ length: 30 }, (_, index) => keyed(String(index % 3)));
      await accept(engine, events);
      const running = new Set<string>();
      const overlaps: string[] = [];
      let most = 0;
      await processing(
        async ({ body }) => {
          const key = keyOf(body);
          if (running.has(key)) overlaps.push(key);
          running.add(key);
          most = Math.max(most, running.size);
          await new Promise((resolve) => setTimeout(resolve, 2));
          running.delete(key);
          return { kind: "done" };
        },
        { concurrency: 10, handlers: [handler({ key: keyOf })] },
      );
      await ended(30);
      expect(overlaps).toEqual([]);
      expect(most).toBeGreaterThan(1);
      for (const key of ["0", "1", "2"]) {
        const order = handled.map(({ id }) => id).filter((id) => keyOfId(events, id) === key);
        expect(order).toEqual(events.map(({ id }) => id).filter((id) => keyOfId(events, id) === key));
      }
    });

    test("jobs with one key go in order through several workers at once", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      const events = Array.from({ length: 60 }, (_, index) => newEvent({ type: `key${String(index % 3)}` }));
      const begun: Record<string, string[]> = {};
      const running = new Set<string>();
      const handle = async ({ id, type }: Claim): Promise<Outcome> => {
        expect(running).not.toContain(type);
        running.add(type);
        (begun[type] ??= []).push(id);
        await new Promise((resolve) => setImmediate(resolve));
        running.delete(type);
        return { kind: "done" };
      };
      const keys = new Map(events.map(({ id, type }) => [id, type]));
      const handlers = [handler({ key: (body) => keys.get((JSON.parse(body) as { id: string }).id) ?? "" })];
      await processing(handle, { handlers });
      await processing(handle, { engine: await open(), handlers });
      for (let at = 0; at < events.length; at += 7) await accept(engine, events.slice(at, at + 7));
      const handled = await ended(60);
      expect(handled.map(({ outcome }) => outcome)).toEqual(events.map(() => "done"));
      for (const [type, ids] of Object.entries(begun)) {
        expect(ids).toEqual(events.filter((event) => event.type === type).map(({ id }) => id));
      }
    });

    test("one that waits holds back those with its key, also while it is put off; a dead one does not", async () => {
      const { engine, pass, processing, handled, ended } = await setUp(createBackend);
      const events = [keyed("a"), keyed("a"), keyed("b"), keyed("a")];
      await accept(engine, events);
      const outcomes: Outcome[] = [
        { kind: "failed", error: "down" },
        { kind: "later", reason: "busy", delayMs: 60_000 },
        { kind: "dead", error: "hopeless" },
      ];
      await processing(
        async ({ id }) => (id === events[0]!.id ? (outcomes.shift() ?? { kind: "done" }) : { kind: "done" }),
        { handlers: [handler({ key: keyOf })] },
      );
      const ids = (): string[] => handled.map(({ id }) => id);
      await ended(2);
      expect(ids().toSorted()).toEqual([events[0]!.id, events[2]!.id].toSorted());
      expect((await engine.ledger.counts()).byState).toMatchObject({ pending: 3, done: 1 });
      // A new one has its turn, and those behind the key none.
      await accept(engine, [keyed("c")]);
      await ended(3);
      await pass(60_000);
      expect((await ended(4))[3]).toMatchObject({ id: events[0]!.id, outcome: "later" });
      await accept(engine, [keyed("d")]);
      await ended(5);
      await pass(60_000);
      await ended(8);
      expect(ids().slice(5)).toEqual([events[0]!.id, events[1]!.id, events[3]!.id]);
      expect(await engine.ledger.find(events[0]!.id)).toMatchObject({ state: "dead" });
    });

    test("one that is requeued waits for those with its key that have begun or wait", async () => {
      const { engine, processing, handled, ended } = await setUp(createBackend);
      const events = [keyed("a"), keyed("a")];
      await accept(engine, events);
      const goOn = signalled();
      const begun = signalled();
      let first = true;
      await processing(
        async ({ id }): Promise<Outcome> => {
          if (id === events[0]!.id && first) {
            first = false;
            return { kind: "dead", error: "hopeless" };
          }
          if (id === events[1]!.id) {
            begun.give();
            await goOn.promise;
          }
          return { kind: "done" };
        },
        { handlers: [handler({ key: keyOf })] },
      );
      await begun.promise;
      expect(await engine.ledger.requeue([events[0]!.id])).toBe(1);
      await accept(engine, [keyed("b")]);
      await ended(2);
      expect(await engine.ledger.find(events[0]!.id)).toMatchObject({ state: "pending" });
      goOn.give();
      await ended(4);
      expect(handled.slice(2).map(({ id }) => id)).toEqual([events[1]!.id, events[0]!.id]);
    });

    test("a job whose key cannot be told is dead with that reason, and the others go on", async () => {
      const { engine, processing } = await setUp(createBackend);
      const [odd, plain] = [newEvent({ body: Buffer.from("{}") }), keyed("a")];
      await accept(engine, [odd, plain]);
      await processing(done, { handlers: [handler({ key: keyOf })] });
      const dead = await until(
        () => engine.ledger.find(odd.id),
        (found) => found?.state === "dead",
      );
      expect(dead!.lastError).toBe("The handler's key failed: Error: no key here");
      await until(
        () => engine.ledger.find(plain.id),
        (found) => found?.state === "done",
      );
    });

    test("takes one job that an operator asks for, before it is due, and no other", async () => {
      const { engine, open, processing, handled, ended } = await setUp(createBackend);
      const events = newEvents(2);
      await accept(engine, events);
      const first = await processing(async () => ({ kind: "failed", error: "down" }));
      await ended(2);
      await first.drain(0);
      await accept(engine, [newEvent()]);
      const only = { handler: "everything", id: events[1]!.id };
      const operator = await processing(done, { engine: await open(), only });
      await ended(3);
      await operator.drain(1_000);
      expect(handled[2]).toMatchObject({ id: only.id, attempt: 2, outcome: "done" });
      expect((await engine.ledger.counts()).byState).toMatchObject({ done: 1, pending: 2 });
    });
  });

  describe(`${name}: steps`, () => {
    test("keep their results over attempts, requeues and workers, until the job is done", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const found: (string | undefined)[] = [];
      const handle = async ({ steps, attempt, handler: name }: Claim): Promise<Outcome> => {
        if (name === "other") return { kind: "done" };
        found.push(await steps.find("pdf"), await steps.find("mail"));
        if (found.length === 2) {
          await steps.record("pdf", '{"pages":2}');
          return { kind: "failed", error: String(attempt) };
        }
        if (found.length === 4) {
          await steps.record("mail", "null");
          return { kind: "dead", error: "hopeless" };
        }
        return { kind: "done" };
      };
      const handlers = [handler({ name: "pdf" }), handler({ name: "other" })];
      const first = await processing(handle, { handlers });
      await ended(2);
      await first.drain(0);
      await pass(60_000);
      await processing(handle, { handlers, engine: await open() });
      await ended(3);
      await engine.ledger.requeue([event.id]);
      await ended(4);
      expect(found).toEqual([undefined, undefined, '{"pages":2}', undefined, '{"pages":2}', "null"]);
      expect(await engine.ledger.find(event.id)).toMatchObject({ state: "done" });
    });

    test("are refused to whoever lost the claim", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      await accept(engine, newEvents(1));
      const [claimed, goOn, late] = [signalled(), signalled(), signalled<string>()];
      await processing(async ({ steps }) => {
        claimed.give();
        await goOn.promise;
        await steps.record("pdf", "1").catch((error: unknown) => late.give((error as Error).name));
        return { kind: "done" };
      });
      await claimed.promise;
      await engine.suspend();
      await pass(91_000);
      const seen = signalled<string | undefined>();
      await processing(
        async ({ steps }) => {
          goOn.give();
          await late.promise;
          seen.give(await steps.find("pdf"));
          return { kind: "done" };
        },
        { engine: await open() },
      );
      expect(await late.promise).toBe("LeaseLost");
      expect(await seen.promise).toBeUndefined();
      await ended(2);
    });
  });
}

/** An event whose envelope says a key. */
function keyed(key: string) {
  const event = newEvent();
  return { ...event, body: Buffer.from(JSON.stringify({ id: event.id, key })) };
}

function keyOf(body: string): string {
  const { key } = JSON.parse(body) as { key?: string };
  if (key === undefined) throw new Error("no key here");
  return key;
}

function keyOfId(events: readonly ReturnType<typeof keyed>[], id: string): string {
  return keyOf(events.find((event) => event.id === id)!.body.toString());
}
