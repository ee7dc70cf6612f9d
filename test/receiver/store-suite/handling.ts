import { describe, expect, test } from "vitest";
import type { Ending } from "../../../receiver/store/port.ts";
import {
  accept,
  acceptAndClaim,
  begin,
  claim,
  claimOne,
  type CreateBackend,
  event,
  handleAll,
  handler,
  jobOf,
  MINUTE_MS,
  openStore,
  openWorker,
  replaceWorker,
} from "./harness.ts";

export function describeHandling(name: string, createBackend: CreateBackend): void {
  describe(`${name}: claiming and ending`, () => {
    test("a claim returns the event and counts the attempt; no other claim gets the job", async () => {
      const store = await openWorker(await createBackend());
      const sent = event({ body: Buffer.from('{"id":"é"}') });
      await accept(store, sent);
      const job = await claimOne(store);
      const { id, type } = sent;
      expect(job).toMatchObject({ handler: "everything", id, type, body: '{"id":"é"}', attempt: 1 });
      expect(job.waitingSinceMs).toBe(job.receivedAtMs);
      expect(await claim(store)).toEqual([]);
      const running = { state: "running", attempts: 1, nextAttemptAtMs: null };
      expect(await jobOf(store, id)).toMatchObject(running);
    });

    test("claims made at once share no job, and a claim takes no more than its limit", async () => {
      const store = await openWorker(await createBackend());
      await accept(store, ...Array.from({ length: 50 }, () => event()));
      const claims = await Promise.all([1, 2, 3, 4, 5].map(async () => claim(store, "everything", 10)));
      expect(claims.map((jobs) => jobs.length)).toEqual([10, 10, 10, 10, 10]);
      expect(new Set(claims.flat().map(({ id }) => id)).size).toBe(50);
      expect(await claim(store, "everything", 0)).toEqual([]);
    });

    test("the job due for longest is claimed first: a due retry comes before later events", async () => {
      const { backend, store } = await begin(createBackend);
      const [first = ""] = await accept(store, event());
      await store.jobs.end(await claimOne(store), { kind: "failed", error: "no", delayMs: MINUTE_MS });
      await backend.pass(30_000);
      const [second = ""] = await accept(store, event());
      await backend.pass(40_000);
      const [third = ""] = await accept(store, event());
      const inOrder = backend.isSqlite ? [second, first, third] : [first, second, third];
      expect((await claim(store)).map(({ id }) => id)).toEqual(inOrder);
    });

    test.each<
      [Ending, state: string, attempts: number, handled: number, dueInMs: number | null, string | null]
    >([
      [{ kind: "done" }, "done", 1, 1, null, null],
      [{ kind: "failed", error: "a", delayMs: 1_500 }, "waiting", 1, 0, 1_500, "a"],
      [{ kind: "later", error: "b", delayMs: MINUTE_MS }, "waiting", 0, 0, MINUTE_MS, "b"],
      [{ kind: "dead", error: "c" }, "dead", 1, 0, null, "c"],
      [{ kind: "returned" }, "waiting", 0, 0, 0, null],
    ])(
      "an attempt that ends as %o leaves the job %s",
      async (ending, state, attempts, handled, dueInMs, lastError) => {
        const expected = { state, attempts, handled, lastError, deferred: ending.kind === "later" };
        const { backend, store } = await begin(createBackend);
        const job = await acceptAndClaim(store);
        const { id } = job;
        const nowMs = await store.nowMs();
        expect(await store.jobs.end(job, ending)).toBe(true);
        // An ended attempt cannot end again.
        expect(await store.jobs.end(job, { kind: "dead", error: "late" })).toBe(false);

        const stored = await jobOf(store, id);
        expect(stored).toMatchObject({ held: false, ...expected });
        const { nextAttemptAtMs = null, finishedAtMs = null } = stored ?? {};
        const waitMs = nextAttemptAtMs === null ? null : Math.round((nextAttemptAtMs - nowMs) / 1_000);
        expect(waitMs).toBe(dueInMs === null ? null : Math.round(dueInMs / 1_000));
        expect(finishedAtMs === null).toBe(state === "waiting");

        expect(dueInMs === 0 ? [] : await claim(store)).toEqual([]);
        const deferredUntilMs = stored?.deferred ? nextAttemptAtMs : null;
        expect((await store.ledger.find(id))?.deferredUntilMs).toBe(deferredUntilMs);
        await backend.pass((dueInMs ?? 0) + 1_000);
        expect(await claim(store)).toHaveLength(state === "waiting" ? 1 : 0);
      },
    );

    test("the last five errors of a job are kept, with any text, newest first, and a dead job has the cause of its last; reports of its death do not count", async () => {
      const { backend, store } = await begin(createBackend);
      const [id = ""] = await accept(store, event());
      for (let attempt = 1; attempt <= 6; attempt += 1) {
        await store.jobs.end(await claimOne(store), {
          kind: "failed",
          error: `error ${String(attempt)} \0 \uD800`,
          delayMs: 0,
        });
        await backend.pass(1_000);
      }
      const last = { kind: "dead", error: "no order ord_1234567890 at 10.0.0.7", reports: 2 } as const;
      await store.jobs.end(await claimOne(store), last);
      const job = await jobOf(store, id);
      expect(job?.errors.map(({ attempt }) => attempt)).toEqual([5, 6, 5, 4, 3]);
      expect(job).toMatchObject({ attempts: 5, lastError: last.error });
      const [cause] = (await store.ledger.counts()).causes;
      expect(cause).toMatchObject({ handler: "everything", dead: 1 });
      expect(cause?.cause).not.toMatch(/1234567890|10\.0\.0\.7/);
      expect(await store.ledger.list({ cause: cause?.cause }, { limit: 5 })).toHaveLength(1);
      expect(await store.ledger.list({ cause: "another" }, { limit: 5 })).toEqual([]);
    });

    test("results of steps are kept over attempts and requeues, per job, until it is done, under any name", async () => {
      const { store } = await begin(createBackend, [handler(), handler({ name: "other" })]);
      const [id = ""] = await accept(store, event());
      let job = await claimOne(store);
      await store.jobs.recordStep(job, "charge \0", '{"n":1}');
      await store.jobs.recordStep(job, "charge \0", '{"n":2}');
      await store.jobs.end(job, { kind: "dead", error: "no" });
      await expect(store.jobs.recordStep(job, "mail", "1")).rejects.toThrow(/no longer this attempt's/);
      expect(await store.jobs.findStep(await claimOne(store, "other"), "charge \0")).toBeUndefined();

      await store.ledger.requeue([id], "everything");
      job = await claimOne(store);
      expect(await store.jobs.findStep(job, "charge \0")).toBe('{"n":2}');
      expect(await store.jobs.findStep(job, "mail")).toBeUndefined();
      await store.jobs.end(job, { kind: "done" });
      expect(await store.jobs.findStep(job, "charge \0")).toBeUndefined();
    });
  });

  describe(`${name}: workers that come and go`, () => {
    test("jobs of a worker that died wait again with the attempt counted, or are dead after their last", async () => {
      const backend = await createBackend();
      const policies = { maximumAttempts: 2, backoffMs: (attempt: number) => attempt * MINUTE_MS };
      let store = await openWorker(backend, [handler(policies)]);
      const [id = ""] = await accept(store, event());
      await claimOne(store);
      await backend.kill(store);

      store = await openWorker(backend, [handler(policies)]);
      await backend.pass(1_000);
      const waiting = await jobOf(store, id);
      expect(waiting).toMatchObject({
        state: "waiting",
        attempts: 1,
        deferred: true,
        lastError: expect.stringMatching(/ended/),
      });
      await backend.pass(2 * MINUTE_MS);
      expect((await claimOne(store)).attempt).toBe(2);
      await backend.kill(store);

      store = await openWorker(backend, [handler(policies)]);
      await backend.pass(1_000);
      await expect
        .poll(async () => jobOf(store, id))
        .toMatchObject({ state: "dead", attempts: 2, lastError: expect.stringMatching(/ended/) });
    });

    test("unfinished jobs of a handler that is gone are ignored with the reason, those of others stay", async () => {
      const backend = await createBackend();
      let store = await openWorker(backend, [handler(), handler({ name: "gone" })]);
      const [id = ""] = await accept(store, event());
      store = await replaceWorker(backend, store, [handler()]);
      expect(await jobOf(store, id, "gone")).toMatchObject({
        state: "ignored",
        lastError: expect.stringMatching(/gone/),
      });
      expect(await handleAll(store)).toEqual([id]);
      expect(await store.ledger.find(id)).toMatchObject({ state: "done", handled: 1 });
      expect((await store.ledger.handlers()).map((one) => one.name)).toEqual(["everything"]);
      // It gets no events from now on.
      const [later = ""] = await accept(store, event());
      expect((await store.ledger.find(later))?.jobs.map((job) => job.handler)).toEqual(["everything"]);
    });

    test("an intake that was open before sees each announcement", async () => {
      const backend = await createBackend();
      const intake = await openStore(backend);
      const orders = await openWorker(backend, [handler({ types: ["order.created"] })]);
      await accept(intake, event({ type: "order.created" }));
      expect(await handleAll(orders)).toHaveLength(1);
      const calls = await replaceWorker(backend, orders, [
        handler({ name: "calls", types: ["call.completed"] }),
      ]);
      const [order = "", call = ""] = await accept(intake, event({ type: "order.created" }), event());
      expect(await handleAll(calls, "calls")).toEqual([call]);
      expect(await intake.ledger.find(order)).toMatchObject({ state: "ignored" });
    });
  });
}
