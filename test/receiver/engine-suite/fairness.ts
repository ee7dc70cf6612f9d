import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../receiver/engine.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, done, handler, never, newEvent, newEvents, setUp, type CreateBackend } from "./harness.ts";

/** Who has to wait for whom. */
export function describeFairness(name: string, createBackend: CreateBackend): void {
  describe(`${name}: turns`, () => {
    test.for([
      ["", 0],
      [", however long that takes", 1_001],
    ] as const)(
      "an unrelated event waits for one attempt of one suspect at the most%s",
      async ([, tookMs]) => {
        const { engine, suspects, processing, open, pass } = await crashed(6);
        await accept(engine, [newEvent({ type: "unrelated" })]);
        const order: string[] = [];
        const other = await open();
        await processing(
          async ({ id, type }) => {
            order.push(type);
            // While a suspect runs, and times out, somebody orders.
            if (suspects.has(id)) await accept(other, [newEvent({ type: "unrelated" })]);
            if (suspects.has(id) && tookMs > 0) await pass(tookMs);
            return suspects.has(id) ? { kind: "failed", error: "timed out" } : { kind: "done" };
          },
          { engine: other, predecessors: ["dead"] },
        );
        await until(
          () => order.length,
          (length) => length === 13,
        );
        expect(order).toEqual([
          "unrelated",
          ...Array.from({ length: 6 }, () => ["suspect", "unrelated"]).flat(),
        ]);
      },
    );

    test("any ordinary ending ends the suspicion: the next attempts run beside each other", async () => {
      const { suspects, processing, open, pass, ended, engine } = await crashed(3);
      const together = signalled();
      const alone: number[] = [];
      let running = 0;
      await processing(
        async ({ attempt }): Promise<Outcome> => {
          running += 1;
          if (attempt === 1) {
            alone.push(running);
            running -= 1;
            return { kind: "failed", error: "down" };
          }
          if (running === 3) together.give();
          await together.promise;
          return { kind: "done" };
        },
        { engine: await open(), predecessors: ["dead"] },
      );
      await ended(3);
      expect(alone).toEqual([1, 1, 1]);
      await pass(60_000);
      await ended(6);
      for (const id of suspects) {
        expect(await engine.ledger.find(id)).toMatchObject({ state: "done", attempts: 2 });
      }
    });

    test("a deadly one is found out among its company, counted alone and buried, and costs the others nothing", async () => {
      const { engine, suspects, processing, open } = await crashed(3, {
        maximumAttempts: 2,
        backoffMs: () => 0,
      });
      const [deadly] = suspects;
      for (const workerId of ["second", "third"]) {
        const machine = await open();
        const struck = signalled();
        await processing(
          async ({ id }) => {
            if (id !== deadly) return { kind: "done" };
            struck.give();
            return never();
          },
          { engine: machine, workerId, predecessors: ["dead", "second"] },
        );
        await struck.promise;
        await machine.suspend();
      }
      await processing(done, { engine: await open(), predecessors: ["third"] });
      const dead = await until(
        () => engine.ledger.find(deadly!),
        (found) => found?.state === "dead",
      );
      expect(dead).toMatchObject({ attempts: 2, lastError: expect.stringContaining("vanished") });
      await until(
        () => engine.ledger.counts(),
        ({ byState }) => byState.done === 2,
      );
      for (const id of [...suspects].slice(1)) {
        expect(await engine.ledger.find(id)).toMatchObject({ state: "done", attempts: 1 });
      }
    });

    test("a backlog of one handler does not hold up the events of another", async () => {
      const { engine, processing, handled } = await setUp(createBackend);
      await accept(engine, newEvents(2_000, { type: "slow" }));
      const goOn = signalled();
      let begun = 0;
      await processing(
        async ({ type }) => {
          if (type !== "slow") return { kind: "done" };
          begun += 1;
          // Slow enough not to be fetched ahead, and quick enough for a test.
          if (begun <= 4) await goOn.promise;
          else await new Promise((resolve) => setTimeout(resolve, 60));
          return { kind: "done" };
        },
        {
          handlers: [
            handler({ name: "slow", types: ["slow"] }),
            handler({ name: "orders", types: ["order"] }),
          ],
        },
      );
      await until(
        () => begun,
        (running) => running === 4,
      );
      await accept(engine, [newEvent({ type: "order" })]);
      setTimeout(goOn.give, 500);
      await until(
        () => handled,
        (ends) => ends.some(({ type }) => type === "order"),
      );
      expect(handled.length).toBeLessThan(500);
    });

    test("of two handlers that are both behind, each has its turn", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const handlers = [handler({ name: "many" }), handler({ name: "few", types: ["few"] })];
      await accept(engine, [...newEvents(300, { type: "many" }), ...newEvents(3, { type: "few" })]);
      const first = await processing(async () => ({ kind: "failed", error: "down" }), { handlers });
      await ended(306);
      await first.drain(0);
      await pass(60_001);
      await processing(done, { handlers, concurrency: 2 });
      const ends = (await ended(612)).slice(306);
      expect(ends.findLastIndex((end) => end.handler === "few")).toBeLessThan(100);
    });

    /** Events that ran together in a worker, `dead`, when it crashed. */
    async function crashed(count: number, policies: Parameters<typeof setUp>[1] = {}) {
      const world = await setUp(createBackend, policies);
      const events = newEvents(count, { type: "suspect" });
      await accept(world.engine, events);
      const begun = signalled();
      let running = 0;
      await world.processing(
        async () => {
          running += 1;
          if (running === count) begun.give();
          return never();
        },
        { workerId: "dead", concurrency: count },
      );
      await begun.promise;
      await world.engine.suspend();
      return { ...world, suspects: new Set(events.map(({ id }) => id)) };
    }
  });
}
