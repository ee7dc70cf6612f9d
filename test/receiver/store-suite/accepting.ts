import { describe, expect, test } from "vitest";
import {
  accept,
  begin,
  claim,
  type CreateBackend,
  event,
  handler,
  MINUTE_MS,
  never,
  openStore,
  openWorker,
  replaceWorker,
} from "./harness.ts";

export function describeAccepting(name: string, createBackend: CreateBackend): void {
  describe(`${name}: accepting`, () => {
    test("a new event is stored with its bytes, and found by its id in upper and lower case", async () => {
      const store = await openStore(await createBackend());
      const body = Buffer.from('{"id": "x",  "n": 1e3, "emoji": "\u{1f600}"}');
      const sent = event({ body, objectId: "call_1" });
      expect(await store.intake.accept([sent])).toEqual({ ok: true, acceptances: [{ duplicate: false }] });

      const found = await store.ledger.find(`evt_${sent.id.slice(4).toUpperCase()}`);
      const { id, type } = sent;
      expect(found).toMatchObject({ id, type, objectId: "call_1", source: "webhook", duplicates: 0 });
      expect(Buffer.from((await store.ledger.body(found?.seq ?? 0)) ?? [])).toEqual(sent.body);
    });

    test("the same id again is a duplicate, also in one batch, in another case, and after its job is done", async () => {
      const { store } = await begin(createBackend);
      const sent = event();
      const again = { ...sent, id: `evt_${sent.id.slice(4).toUpperCase()}` };
      const acceptances = [{ duplicate: false }, { duplicate: true }];
      expect(await store.intake.accept([sent, again])).toEqual({ ok: true, acceptances });
      for (const job of await claim(store)) await store.jobs.end(job, { kind: "done" });
      expect(await store.intake.accept([sent])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      expect(await claim(store)).toEqual([]);
      expect(await store.ledger.find(sent.id)).toMatchObject({ duplicates: 2, handled: 1, state: "done" });
    });

    test("a duplicate with another body is reported with both hashes, and the first body stays", async () => {
      const store = await openStore(await createBackend());
      const sent = event();
      await accept(store, sent);
      const result = await store.intake.accept([{ ...sent, body: Buffer.from("{}") }]);
      expect(result).toMatchObject({ ok: true });
      const [acceptance] = result.ok ? result.acceptances : [];
      expect(acceptance).toEqual({
        duplicate: true,
        differs: {
          storedSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          receivedSha256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        },
      });
      const found = await store.ledger.find(sent.id);
      expect(Buffer.from((await store.ledger.body(found?.seq ?? 0)) ?? [])).toEqual(sent.body);
    });

    test("of many copies that arrive at several processes at once, one is new", async () => {
      const backend = await createBackend();
      const stores = [await openStore(backend), await openStore(backend), await openStore(backend)];
      const sent = Array.from({ length: 20 }, () => event());
      const results = await Promise.all(
        [sent, sent.toReversed()].flatMap((order) => stores.map(async (store) => store.intake.accept(order))),
      );
      const acceptances = results.flatMap((result) => (result.ok ? result.acceptances : []));
      expect(acceptances).toHaveLength(20 * 6);
      expect(acceptances.filter(({ duplicate }) => !duplicate)).toHaveLength(20);
      expect(await stores[0]?.ledger.list({}, { limit: 100 })).toHaveLength(20);
    });

    test("an event that no handler wants is ignored, and is not given to a handler that comes later", async () => {
      const { backend, store } = await begin(createBackend, [
        handler({ name: "orders", types: ["order.created"] }),
      ]);
      const [id = ""] = await accept(store, event());
      expect(await store.ledger.find(id)).toMatchObject({ state: "ignored", jobs: [], handled: 0 });
      expect(await store.ledger.counts()).toMatchObject({ unwanted: 1 });

      const next = await replaceWorker(backend, store, [handler()]);
      expect(await claim(next)).toEqual([]);
      expect(await next.ledger.find(id)).toMatchObject({ state: "ignored", jobs: [] });
    });

    test("an event stored while a worker starts gets a job for each handler, on SQLite also for new ones", async () => {
      const orders = handler({ name: "orders", types: ["order.created"] });
      const { backend, store } = await begin(createBackend, [orders]);
      const intake = await openStore(backend);
      const [before = ""] = await accept(intake, event());
      await store.close();
      await backend.pass(MINUTE_MS);

      const starting = await openStore(backend);
      await backend.pass(MINUTE_MS);
      const sent = await accept(intake, event(), event({ type: "order.created" }));
      expect(await intake.ledger.find(sent[0] ?? "")).toMatchObject({ state: "ignored" });
      const both = { ...orders, types: ["order.created", "call.completed"] };
      // The job that is made now is due after the one that was made with its event.
      await backend.pass(1);
      await starting.jobs.begin([both, handler()], never);

      const { isSqlite } = backend;
      expect((await claim(starting)).map(({ id }) => id)).toEqual(isSqlite ? sent : []);
      expect((await claim(starting, "orders")).map(({ id }) => id)).toEqual(
        isSqlite ? sent.toReversed() : sent.slice(1),
      );
      expect(await starting.ledger.find(before)).toMatchObject({ state: "ignored", jobs: [] });
      expect(await starting.ledger.counts()).toMatchObject({ unwanted: isSqlite ? 1 : 2 });
    });

    test("events that came before any handler was announced get their jobs with the announcement, in their order", async () => {
      const backend = await createBackend();
      const intake = await openStore(backend);
      const sent = Array.from({ length: 450 }, (_, index) =>
        event({ type: index === 0 ? "fax.received" : "call.completed" }),
      );
      await accept(intake, ...sent);
      expect(await intake.ledger.find(sent[1]?.id ?? "")).toMatchObject({ state: "waiting", jobs: [] });

      const worker = await openWorker(backend, [handler({ types: ["call.completed"] })]);
      const jobs = await claim(worker, "everything", 1_000);
      expect(jobs.map(({ id }) => id)).toEqual(sent.slice(1).map(({ id }) => id));
      expect(await worker.ledger.find(sent[0]?.id ?? "")).toMatchObject({ state: "ignored" });
    });

    test("a webhook for an object that reconcile enqueued is a duplicate with any id, and is found by that id", async () => {
      const store = await openWorker(await createBackend());
      const objectId = "call_1 \\u0000 \0 \uD800";
      const healed = event({ source: "reconcile", objectId });
      const late = event({ objectId });
      await accept(store, healed);
      for (const one of [late, late, event({ objectId }), healed])
        expect(await store.intake.accept([one])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      expect(await store.ledger.find(late.id)).toMatchObject({ id: healed.id, duplicates: 4 });
      expect(await claim(store)).toHaveLength(1);
      // Another type of the same object is another event.
      const other = event({ objectId, type: "call.transferred" });
      expect(await store.intake.accept([other])).toEqual({ ok: true, acceptances: [{ duplicate: false }] });
    });

    test("reconcile enqueues no object that a webhook brought; two webhooks with one object are two events", async () => {
      const store = await openStore(await createBackend());
      await accept(store, event({ objectId: "call_1" }));
      for (const source of ["reconcile", "webhook"] as const)
        expect(await store.intake.accept([event({ objectId: "call_1", source })])).toEqual({
          ok: true,
          acceptances: [{ duplicate: source === "reconcile" }],
        });
      expect([...(await store.ledger.known("call.completed", ["call_1", "call_2"]))]).toEqual(["call_1"]);
      expect([...(await store.ledger.known("call.transferred", ["call_1"]))]).toEqual([]);

      // However many there are, and also events that arrived during the question.
      const ids = Array.from({ length: 2_100 }, (_, n) => `vm_${String(n)}`);
      const faxes = [event({ type: "fax.received" }), event({ type: "fax.received" })] as const;
      await accept(store, faxes[0], ...ids.map((objectId) => event({ objectId })), faxes[1]);
      for (const page of [{ limit: 9 }, { limit: 9, afterSeq: 0 }])
        expect(await store.ledger.list({ type: "fax.received" }, page)).toHaveLength(2);
      expect(await store.ledger.known("call.completed", [...ids, "vm_2100"])).toEqual(new Set(ids));
      await accept(store, event({ objectId: "vm_2100" }));
      const late = event({ source: "reconcile", objectId: "vm_2100" });
      expect(await store.intake.accept([late])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      // The id that reconcile made up names no event.
      expect(await store.ledger.find(late.id)).toBeUndefined();
    });

    test("a webhook and reconcile store the same object once, even at the same time", async () => {
      const backend = await createBackend();
      const stores = [await openStore(backend), await openStore(backend)];
      for (let round = 0; round < 20; round += 1) {
        const objectId = `call_${String(round)}`;
        const brought = [event({ objectId }), event({ objectId, source: "reconcile" })];
        await Promise.all(brought.map(async (one, n) => stores[n]?.intake.accept([one])));
      }
      expect(await stores[0]?.ledger.list({}, { limit: 100 })).toHaveLength(20);
    });

    test("a closed store refuses and does not throw", async () => {
      const store = await openStore(await createBackend());
      expect(await store.intake.probe()).toEqual({ ok: true });
      await store.close();
      expect(await store.intake.accept([event()])).toMatchObject({ ok: false, reason: "closed" });
      expect(await store.intake.probe()).toMatchObject({ ok: false, reason: "closed" });
    });
  });
}
