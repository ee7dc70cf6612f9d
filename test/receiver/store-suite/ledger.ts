import { describe, expect, test } from "vitest";
import type { Ending, Store } from "../../../receiver/store/port.ts";
import {
  accept,
  acceptAndClaim,
  begin,
  claimOne,
  type CreateBackend,
  endAsDead,
  event,
  handleAll,
  handler,
  idsOf,
  MINUTE_MS,
  openStore,
  openWorker,
} from "./harness.ts";

export function describeLedger(name: string, createBackend: CreateBackend): void {
  describe(`${name}: ledger`, () => {
    test("lists newest first or oldest first, page by page, without gaps and without copies", async () => {
      const store = await openStore(await createBackend());
      const sent = await accept(store, ...Array.from({ length: 25 }, () => event()));
      const down: string[] = [];
      const up: string[] = [];
      for (let beforeSeq: number | undefined; ;) {
        const page = await store.ledger.list({}, { limit: 10, beforeSeq });
        down.push(...idsOf(page));
        beforeSeq = page.at(-1)?.seq;
        if (page.length < 10) break;
      }
      for (let afterSeq = 0; ;) {
        const page = await store.ledger.list({}, { limit: 10, afterSeq });
        up.push(...idsOf(page));
        afterSeq = page.at(-1)?.seq ?? 0;
        if (page.length < 10) break;
      }
      expect(up).toEqual(sent);
      expect(down).toEqual(sent.toReversed());
    });

    test("finds the first and the last of thousands of events by their type, in both directions", async () => {
      const store = await openStore(await createBackend());
      const others = Array.from({ length: 2_000 }, () => "call.completed");
      const types = ["rare.type", ...others, "rare.type", "rare.type"];
      const sent = await accept(store, ...types.map((type) => event({ type })));
      const rare = [sent[0], ...sent.slice(-2)];
      for (const limit of [2, 5]) {
        const [up, down] = [{ limit, afterSeq: 0 }, { limit }];
        expect(idsOf(await store.ledger.list({ type: "rare.type" }, up))).toEqual(rare.slice(0, limit));
        expect(idsOf(await store.ledger.list({ type: "rare.type" }, down))).toEqual(
          rare.toReversed().slice(0, limit),
        );
      }
    });

    test("filters by state, handler and type of the same job; a dead job is found while a sibling is unfinished", async () => {
      const store = await openWorker(await createBackend(), [handler(), handler({ name: "other" })]);
      const [dead = "", order = "", running = "", waiting = ""] = await accept(
        store,
        event(),
        event({ type: "order.created" }),
        event(),
        event(),
      );
      await endAsDead(store);
      await store.jobs.end(await claimOne(store), { kind: "done" });
      await claimOne(store);
      const list = async (filter: Parameters<Store["ledger"]["list"]>[0]) =>
        idsOf(await store.ledger.list(filter, { limit: 10 }));

      expect(await list({ state: "dead" })).toEqual([dead]);
      expect(await list({ state: "dead", handler: "other" })).toEqual([]);
      expect(await list({ state: "running" })).toEqual([running]);
      expect(await list({ state: "done" })).toEqual([order]);
      expect(await list({ state: "waiting", handler: "everything" })).toEqual([waiting]);
      expect(await list({ state: "waiting" })).toEqual([waiting, running, order, dead]);
      expect(await list({ type: "order.created" })).toEqual([order]);
      expect(await list({ type: "order.created", state: "dead" })).toEqual([]);
      expect(await list({ handler: "nobody" })).toEqual([]);
      expect(await store.ledger.find(dead)).toMatchObject({ state: "dead", lastError: "no", handled: 0 });
    });

    test("an event has the next attempt, the latest deferral, the worst state and the last end of its jobs", async () => {
      const names = ["a", "b", "c"];
      const { backend, store } = await begin(
        createBackend,
        names.map((one) => handler({ name: one })),
      );
      const [id = ""] = await accept(store, event());
      const end = async (...endings: Ending[]) => {
        for (const [n, ending] of endings.entries())
          await store.jobs.end(await claimOne(store, names[n]), ending);
        const found = await store.ledger.find(id);
        return { ...found, dueMs: found?.jobs.map((job) => job.nextAttemptAtMs) };
      };
      const failed = (minutes: number) =>
        ({ kind: "failed", error: "busy", delayMs: minutes * MINUTE_MS }) as const;

      const put = await end(failed(3), { ...failed(2), kind: "later" }, { ...failed(1), kind: "later" });
      expect(put).toMatchObject({ state: "waiting", attempts: 1, lastError: "busy" });
      expect(put).toMatchObject({ nextAttemptAtMs: put.dueMs?.[2], deferredUntilMs: put.dueMs?.[1] });
      await backend.pass(3 * MINUTE_MS);
      const dead = await end(failed(1), { kind: "done" }, { kind: "dead", error: "no" });
      expect(dead).toMatchObject({ state: "dead", attempts: 2, lastError: "no", finishedAtMs: null });
      await backend.pass(MINUTE_MS);
      await end({ kind: "done" });
      await backend.pass(MINUTE_MS);
      await store.ledger.discard([id], { reason: "a test" });
      const { jobs = [], ...done } = await end();
      expect(done).toMatchObject({ state: "done", handled: 1, finishedAtMs: jobs[2]?.finishedAtMs });
    });

    test("counts jobs by handler and state, and the dead by cause", async () => {
      const { backend, store } = await begin(createBackend, [
        handler(),
        handler({ name: "orders", types: ["order.created"] }),
        handler({ name: "idle", types: [] }),
      ]);
      await accept(store, event({ type: "order.created" }));
      const { id } = await claimOne(store);
      await backend.pass(1_000);
      await accept(store, ...Array.from({ length: 5 }, () => event()));
      await store.jobs.end(await claimOne(store), { kind: "dead", error: "away" });
      for (const _ of [1, 2]) await endAsDead(store);
      await store.jobs.end(await claimOne(store), { kind: "failed", error: "busy", delayMs: MINUTE_MS });
      const oldest = { oldestUnfinishedAtMs: (await store.ledger.find(id))?.receivedAtMs };
      const none = { waiting: 0, running: 0, failing: 0, dead: 0, ignored: 0 };
      expect(await store.ledger.counts()).toEqual({
        events: 6,
        unwanted: 0,
        handlers: [
          { ...none, ...oldest, handler: "everything", waiting: 2, running: 1, failing: 1, dead: 3 },
          { ...none, handler: "idle", oldestUnfinishedAtMs: null },
          { ...none, ...oldest, handler: "orders", waiting: 1 },
        ],
        causes: [
          { handler: "everything", cause: "no", dead: 2 },
          { handler: "everything", cause: "away", dead: 1 },
        ],
      });
    });

    test("prunes bodies of finished events and later their ids; unfinished and dead ones stay, and a duplicate is recognized", async () => {
      const { backend, store } = await begin(createBackend, [
        handler(),
        handler({ name: "orders", types: ["order.created"] }),
      ]);
      const old = [
        event(),
        event({ type: "order.created" }),
        event(),
        event({ objectId: "call_1", source: "reconcile" }),
        event(),
      ];
      const [done = "", half = "", dead = "", healed = "", running = ""] = await accept(store, ...old);
      for (const kind of ["done", "done", "dead", "done"] as const)
        await store.jobs.end(await claimOne(store), { kind, error: "no" });
      const claimed = await claimOne(store);
      await backend.pass(1_000);
      const beforeMs = await store.nowMs();
      await backend.pass(1_000);
      const [young = ""] = await accept(store, event());
      await handleAll(store);

      expect(await store.ledger.prunedBeforeMs()).toBe(0);
      expect(await store.ledger.prune({ bodiesMs: beforeMs, idsMs: 0 })).toEqual({ bodies: 2, ids: 0 });
      expect(await store.ledger.prunedBeforeMs()).toBe(beforeMs);
      expect(idsOf(await store.ledger.list({ state: "pruned" }, { limit: 9 }))).toEqual([healed, done]);
      expect(await store.ledger.find(done)).toMatchObject({ state: "pruned", handled: 1, jobs: [] });
      for (const id of [half, dead, young, running])
        expect(await store.ledger.find(id)).not.toMatchObject({ state: "pruned" });
      expect(await store.intake.accept(old)).toMatchObject({
        ok: true,
        acceptances: old.map(() => ({ duplicate: true })),
      });
      const late = event({ objectId: "call_1" });
      expect(await store.intake.accept([late])).toMatchObject({ acceptances: [{ duplicate: true }] });
      expect(await store.ledger.requeue([done])).toBe(0);

      expect(await store.ledger.prune({ bodiesMs: beforeMs, idsMs: beforeMs })).toEqual({
        bodies: 0,
        ids: 2,
      });
      expect(await store.ledger.find(done)).toBeUndefined();
      expect(await store.ledger.find(dead)).toMatchObject({ state: "dead" });
      await store.jobs.end(claimed, { kind: "done" });
      expect(await store.ledger.prune({ bodiesMs: beforeMs - 1, idsMs: 0 })).toEqual({ bodies: 1, ids: 0 });
      expect(await store.ledger.prunedBeforeMs()).toBe(beforeMs);
    });

    test("a pruned event keeps no results of its steps", async () => {
      const { backend, store } = await begin(createBackend);
      const job = await acceptAndClaim(store);
      await store.jobs.recordStep(job, "charge", "1");
      await store.jobs.end(job, { kind: "dead", error: "no" });
      await store.ledger.discard([job.id], { reason: "a test" });
      await backend.pass(1_000);
      const before = { bodiesMs: await store.nowMs(), idsMs: 0 };
      expect(await store.ledger.prune(before)).toEqual({ bodies: 1, ids: 0 });
      const steps = backend.isSqlite ? "steps" : "receiver.steps";
      expect(await backend.rows(`SELECT * FROM ${steps}`)).toEqual([]);
    });

    test("requeues and prunes more than one batch, and skips events that must stay", async () => {
      const { backend, store } = await begin(createBackend);
      const sent = await accept(store, ...Array.from({ length: 450 }, () => event()));
      await handleAll(store, undefined, { kind: "dead", error: "no" });
      expect(await store.ledger.requeue(sent)).toBe(450);
      await endAsDead(store);
      await handleAll(store);
      await backend.pass(1_000);
      const nowMs = await store.nowMs();
      expect(await store.ledger.prune({ bodiesMs: nowMs, idsMs: nowMs })).toEqual({ bodies: 449, ids: 449 });
      expect(await store.ledger.list({}, { limit: 5 })).toHaveLength(1);
    });

    test("keeps bookmarks, and finds no damage in an intact file", async () => {
      const backend = await createBackend();
      const store = await openStore(backend);
      expect(await store.ledger.bookmark("here")).toBeUndefined();
      await store.ledger.setBookmark("here", "a");
      await store.ledger.setBookmark("here", "b");
      expect(await (await openStore(backend)).ledger.bookmark("here")).toBe("b");
      await store.ledger.setBookmark("here", undefined);
      expect(await store.ledger.bookmark("here")).toBeUndefined();
      // The tests' PostgreSQL server does not sync.
      expect((await store.ledger.check()).filter((line) => !line.startsWith("fsync is off"))).toEqual([]);
    });
  });
}
