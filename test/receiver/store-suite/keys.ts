import { describe, expect, test } from "vitest";
import {
  accept,
  begin,
  claim,
  claimOne,
  type CreateBackend,
  endAsDead,
  event,
  handleAll,
  handler,
  jobOf,
  MINUTE_MS,
  openWorker,
} from "./harness.ts";

const byPhone = handler({ key: ["data.object.phone"] });
const from = (phone: unknown, more: object = {}) => event({ object: { phone, ...more } });

export function describeKeys(name: string, createBackend: CreateBackend): void {
  describe(`${name}: jobs with a key`, () => {
    test("jobs with the same key run one at a time, in order of arrival; other keys run in parallel", async () => {
      const store = await openWorker(await createBackend(), [byPhone]);
      const [a1 = "", b1 = "", a2 = "", a3 = ""] = await accept(
        store,
        from("a"),
        from("b"),
        from("a"),
        from("a"),
      );
      const first = await claim(store);
      expect(first.map(({ id }) => id)).toEqual([a1, b1]);
      expect(await jobOf(store, a2)).toMatchObject({ state: "waiting", held: true, nextAttemptAtMs: null });
      for (const job of first) await store.jobs.end(job, { kind: "done" });
      expect(await handleAll(store)).toEqual([a2, a3]);
    });

    test("a missing or null value is not a key, and several paths form one key", async () => {
      const store = await openWorker(await createBackend(), [
        byPhone,
        handler({ name: "pairs", key: ["type", "data.object.phone"] }),
      ]);
      await accept(store, from(null), from(undefined), event(), from("a \0 \uD800"), from("a \0 \uD800"));
      await accept(store, event({ type: "order.created", object: { phone: "a \0 \uD800" } }));
      expect(await claim(store)).toHaveLength(4);
      expect(await claim(store, "pairs")).toHaveLength(5);
    });

    test("a job that waits for a retry, or was deferred, holds back later ones; a dead job does not", async () => {
      const { backend, store } = await begin(createBackend, [byPhone]);
      const [first = "", second = ""] = await accept(store, from("a"), from("a"));
      await store.jobs.end(await claimOne(store), { kind: "failed", error: "no", delayMs: MINUTE_MS });
      expect(await claim(store)).toEqual([]);
      await backend.pass(MINUTE_MS + 1_000);
      const again = await claim(store);
      expect(again.map(({ id }) => id)).toEqual([first]);
      await store.jobs.end(again[0] ?? (await claimOne(store)), {
        kind: "later",
        error: "x",
        delayMs: MINUTE_MS,
      });
      expect(await claim(store)).toEqual([]);
      await backend.pass(MINUTE_MS + 1_000);
      await endAsDead(store);
      expect((await claim(store)).map(({ id }) => id)).toEqual([second]);
    });

    test("a requeued job comes before later ones with its key, and never overlaps with a running one", async () => {
      const { backend, store } = await begin(createBackend, [byPhone]);
      const [r1 = "", r2 = "", h = "", last = ""] = await accept(
        store,
        from("a"),
        from("a"),
        from("a"),
        from("a"),
      );
      for (const _ of [r1, r2]) await endAsDead(store);
      const running = await claimOne(store);
      expect(running.id).toBe(h);
      await store.ledger.requeue([r2]);
      await store.ledger.requeue([r1]);
      expect(await claim(store)).toEqual([]);
      await store.jobs.end(running, { kind: "failed", error: "no", delayMs: 0 });
      await backend.pass(1_000);
      for (const id of backend.isSqlite ? [r1, r2, h, last] : [h, r1, r2, last]) {
        const jobs = await claim(store);
        expect(jobs.map((job) => job.id)).toEqual([id]);
        for (const job of jobs) await store.jobs.end(job, { kind: "done" });
      }
    });

    test("a discarded job releases the next one with its key", async () => {
      const store = await openWorker(await createBackend(), [byPhone]);
      const [first = "", second = ""] = await accept(store, from("a"), from("a"));
      expect(await store.ledger.discard([first], { reason: "test call" })).toBe(1);
      expect((await claim(store)).map(({ id }) => id)).toEqual([second]);
    });

    test("a requeued job and a due one with its key are claimed one at a time", async () => {
      const store = await openWorker(await createBackend(), [byPhone]);
      const [first = ""] = await accept(store, from("a"), from("a"));
      await endAsDead(store);
      expect(await store.ledger.requeue([first])).toBe(1);
      for (const _ of [1, 2]) {
        const [job, ...others] = await claim(store);
        expect(others).toEqual([]);
        if (job) await store.jobs.end(job, { kind: "done" });
      }
      expect(await store.ledger.list({ state: "done" }, { limit: 5 })).toHaveLength(2);
    });

    test("jobs with the same key always run one at a time, and all of them end", async () => {
      const { backend, store } = await begin(createBackend, [handler({ ...byPhone, maximumAttempts: 100 })]);
      const ids = await accept(store, ...Array.from({ length: 40 }, (_, n) => from(`k${String(n % 3)}`)));
      const done: string[] = [];
      for (let round = 0; done.length < ids.length && round < 400; round += 1) {
        const jobs = await claim(store, "everything", 2);
        expect(new Set(jobs.map(({ id }) => ids.indexOf(id) % 3)).size).toBe(jobs.length);
        for (const job of jobs) {
          const kind =
            (["done", "failed", "returned", "done", "later"] as const)[(round + job.attempt) % 5] ?? "done";
          await store.jobs.end(job, { kind, error: "x", delayMs: 0 });
          if (kind === "done") done.push(job.id);
        }
        await backend.pass(1_000);
      }
      for (const key of [0, 1, 2]) {
        const expected = ids.filter((_, n) => n % 3 === key);
        expect(done.filter((id) => expected.includes(id))).toEqual(expected);
      }
    });
  });
}
