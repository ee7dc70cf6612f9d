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
  idsOf,
  jobOf,
  MINUTE_MS,
  openStore,
  openWorker,
  replaceWorker,
} from "./harness.ts";

/** What an operator may do to jobs: requeue and discard them. */

export function describeRequeue(name: string, createBackend: CreateBackend): void {
  describe(`${name}: requeue and discard`, () => {
    test("a requeue gives dead and ignored jobs all their attempts back, and leaves the others as they are", async () => {
      const { backend, store } = await begin(createBackend, [handler(), handler({ name: "other" })]);
      const [id = "", done = ""] = await accept(store, event(), event());
      await endAsDead(store);
      expect(await handleAll(store)).toEqual([done]);
      await backend.pass(1_000);
      const [receivedAtMs] = [(await store.ledger.find(id))?.receivedAtMs ?? 0];
      expect(await store.ledger.requeue([id, done])).toBe(1);
      const job = await claimOne(store);
      expect(job).toMatchObject({ id, attempt: 1 });
      expect(job.waitingSinceMs).toBeGreaterThan(receivedAtMs);
      expect(await jobOf(store, id)).toMatchObject({ errors: [{ error: "no" }] });
      expect(await store.ledger.requeue([id, done])).toBe(0);
      expect(await store.ledger.list({ cause: "no" }, { limit: 5 })).toEqual([]);
      expect(await store.ledger.requeue([id, done], undefined, "done")).toBe(1);
      const again = await claimOne(store);
      expect(again).toMatchObject({ id: done, attempt: 1 });
      await store.jobs.end(again, { kind: "done" });
      expect(await jobOf(store, done)).toMatchObject({ handled: backend.isSqlite ? 2 : 1 });
    });

    test("a requeue for one handler leaves the others alone, and also gives it events for which it had no job", async () => {
      const backend = await createBackend();
      let store = await openWorker(backend, [handler(), handler({ name: "other" })]);
      const [id = "", order = ""] = await accept(store, event(), event({ type: "order.created" }));
      await endAsDead(store);
      await endAsDead(store, "other");
      expect(await store.ledger.requeue([id], "other")).toBe(1);
      expect(await jobOf(store, id)).toMatchObject({ state: "dead" });
      expect(await store.ledger.requeue([id], "nobody")).toBe(0);

      store = await replaceWorker(backend, store, [
        handler(),
        handler({ name: "new", types: ["call.completed"] }),
      ]);
      expect(await store.ledger.requeue([id, order], "new")).toBe(1);
      expect(await handleAll(store, "new")).toEqual([id]);
      expect(await store.ledger.requeue([id], "new")).toBe(0);
      expect(await store.ledger.counts()).toMatchObject({ unwanted: 0 });
    });

    test("a requeue offers an event that no handler wanted to all handlers again", async () => {
      const backend = await createBackend();
      let store = await openWorker(backend, [handler({ types: ["order.created"] })]);
      const [id = ""] = await accept(store, event());
      expect(idsOf(await store.ledger.list({ state: "ignored" }, { limit: 5 }))).toEqual([id]);
      expect(await store.ledger.requeue([id])).toBe(0);
      expect(await store.ledger.find(id)).toMatchObject({ state: "ignored" });
      store = await replaceWorker(backend, store, [handler()]);
      expect(await store.ledger.requeue([id])).toBe(1);
      expect(await handleAll(store)).toEqual([id]);
      expect(await store.ledger.find(id)).toMatchObject({ state: "done", handled: 1 });
      // Now one has wanted it, so a later handler must be named.
      store = await replaceWorker(backend, store, [handler(), handler({ name: "later" })]);
      expect(await store.ledger.requeue([id])).toBe(0);
    });

    test("a requeue does not change an event that waits for the first worker; the worker handles it", async () => {
      const backend = await createBackend();
      const [id = ""] = await accept(await openStore(backend), event());
      const store = await openStore(backend);
      expect(await store.ledger.requeue([id])).toBe(0);
      expect(await store.ledger.requeue([id], "everything")).toBe(0);
      expect(await handleAll(await openWorker(backend))).toEqual([id]);
    });

    test("discarded jobs are ignored with the reason; running and done ones are not discarded", async () => {
      const store = await openWorker(await createBackend(), [handler(), handler({ name: "other" })]);
      const sent = Array.from({ length: 4 }, () => event());
      const [dead = "", done = "", running = "", waiting = ""] = await accept(store, ...sent);
      await endAsDead(store);
      await store.jobs.end(await claimOne(store), { kind: "done" });
      await claimOne(store);
      await store.jobs.end(await claimOne(store), { kind: "later", error: "wait", delayMs: MINUTE_MS });
      const all = [dead, done, running, waiting];
      expect(await store.ledger.discard(all, { handler: "everything", reason: "a test" })).toBe(2);
      const states = await Promise.all(all.map(async (id) => (await jobOf(store, id))?.state));
      expect(states).toEqual(["ignored", "done", "running", "ignored"]);
      expect(await jobOf(store, waiting)).toMatchObject({
        lastError: "a test",
        nextAttemptAtMs: null,
        finishedAtMs: expect.any(Number),
      });
      expect(await jobOf(store, waiting, "other")).toMatchObject({ state: "waiting" });
      expect(await claim(store)).toEqual([]);
      expect(await store.ledger.counts()).toMatchObject({ causes: [] });
      expect(await store.ledger.requeue([waiting], "everything")).toBe(1);
      expect(await jobOf(store, waiting)).toMatchObject({ state: "waiting", deferred: false });
    });
  });
}
