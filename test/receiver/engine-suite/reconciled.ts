import { describe, expect, test } from "vitest";
import { newEventId } from "../helpers/events.ts";
import { accept, done, newEvent, setUp, type CreateBackend } from "./harness.ts";

const DAY_MS = 86_400_000;

/** Ids decide, and the object only where reconcile is involved. */
export function describeReconciled(name: string, createBackend: CreateBackend): void {
  describe(`${name}: accepting what reconcile found`, () => {
    test("takes the service's event for the one that reconcile had enqueued, and knows it by both ids", async () => {
      const { engine } = await setUp(createBackend);
      const healed = newEvent({ type: "voicemail.created", objectId: "vm_1", source: "reconcile" });
      const late = newEvent({ type: "voicemail.created", objectId: "vm_1" });
      await accept(engine, [healed]);
      expect(await engine.intake.accept([late])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      expect(await engine.ledger.find(late.id)).toMatchObject({
        id: healed.id,
        source: "reconcile",
        duplicates: 1,
      });
      expect(await engine.intake.accept([late])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      expect((await engine.ledger.counts()).byState.pending).toBe(1);
    });

    test("takes what reconcile finds for the event that the service had brought", async () => {
      const { engine } = await setUp(createBackend);
      const brought = newEvent({ objectId: "call_1" });
      const found = newEvent({ objectId: "call_1", source: "reconcile" });
      await accept(engine, [brought]);
      expect(await engine.intake.accept([found])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      expect(await engine.ledger.find(found.id)).toMatchObject({ id: brought.id, source: "webhook" });
    });

    test("takes it for the first, where the service had brought several", async () => {
      const { engine } = await setUp(createBackend);
      const [first, second] = [newEvent({ objectId: "call_1" }), newEvent({ objectId: "call_1" })];
      await accept(engine, [first, second]);
      const found = newEvent({ objectId: "call_1", source: "reconcile" });
      expect(await engine.intake.accept([found])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      expect(await engine.ledger.find(found.id)).toMatchObject({ id: first.id, duplicates: 1 });
    });

    test("knows the object that reconcile had enqueued for as long as its id, also once it is pruned", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const healed = newEvent({ objectId: "call_1", source: "reconcile" });
      await accept(engine, [healed, newEvent({ objectId: "call_2" })]);
      await processing(done);
      await ended(2);
      await pass(40 * DAY_MS);
      const older = { bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 400 * DAY_MS };
      expect(await engine.ledger.prune(older)).toEqual({ bodies: 2, ids: 0 });
      const late = newEvent({ objectId: "call_1" });
      expect(await engine.intake.accept([late])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      await accept(engine, [newEvent({ objectId: "call_2" })]);
      await pass(401 * DAY_MS);
      await ended(3);
      // The newest of all keeps its id, so that no number is given twice.
      await accept(engine, [newEvent()]);
      await engine.ledger.prune(older);
      await accept(engine, [newEvent({ objectId: "call_1" })]);
    });

    test("forgets the second id of an event in its turn", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      const late = newEvent({ objectId: "call_1" });
      await accept(engine, [newEvent({ objectId: "call_1", source: "reconcile" })]);
      expect(await engine.intake.accept([late])).toMatchObject({ acceptances: [{ duplicate: true }] });
      await processing(done);
      await ended(1);
      await pass(40 * DAY_MS);
      await accept(engine, [newEvent()]);
      const older = { bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 50 * DAY_MS };
      expect(await engine.ledger.prune(older)).toEqual({ bodies: 1, ids: 0 });
      expect(await engine.ledger.find(late.id)).toMatchObject({ state: "pruned" });
      await pass(20 * DAY_MS);
      await engine.ledger.prune(older);
      expect(await engine.ledger.find(late.id)).toBeUndefined();
      await accept(engine, [late]);
    });

    test("sees the same object within one batch", async () => {
      const { engine } = await setUp(createBackend);
      const both = (objectId: string) => [
        newEvent({ objectId }),
        newEvent({ objectId, source: "reconcile" as const }),
      ];
      const batch = [...both("call_1"), ...both("call_2").toReversed(), ...both("call_3")];
      const result = await engine.intake.accept(batch);
      expect(result.ok && result.acceptances.map(({ duplicate }) => duplicate)).toEqual([
        false,
        true,
        false,
        true,
        false,
        true,
      ]);
    });

    test("keeps events apart that only share their object, their type, or having no object", async () => {
      const { engine } = await setUp(createBackend);
      await accept(engine, [newEvent({ objectId: "call_1" }), newEvent({ objectId: "call_1" })]);
      await accept(engine, [newEvent({ type: "call.transferred", objectId: "call_1", source: "reconcile" })]);
      await accept(engine, [newEvent({ objectId: "call_2", source: "reconcile" })]);
      await accept(engine, [
        newEvent({ source: "reconcile" }),
        newEvent(),
        newEvent({ source: "reconcile" }),
      ]);
      expect((await engine.ledger.counts()).byState.pending).toBe(7);
    });

    test("decides for one of the two when both come at the same time through several engines", async () => {
      const { engine, open } = await setUp(createBackend);
      const engines = [engine, await open(), await open()];
      const objects = Array.from({ length: 15 }, (_, index) => `call_${String(index)}`);
      const results = await Promise.all(
        objects.flatMap((objectId, index) => [
          engines[index % 3]!.intake.accept([newEvent({ objectId })]),
          engines[(index + 1) % 3]!.intake.accept([newEvent({ objectId, source: "reconcile" })]),
        ]),
      );
      const fresh = results.map((result) => result.ok && !result.acceptances[0]!.duplicate);
      for (const [index, objectId] of objects.entries()) {
        expect([fresh[2 * index], fresh[2 * index + 1]], objectId).toContain(true);
        expect([fresh[2 * index], fresh[2 * index + 1]], objectId).toContain(false);
      }
      expect((await engine.ledger.counts()).byState.pending).toBe(objects.length);
    });

    test("tells which objects it knows an event of a type for", async () => {
      const { engine } = await setUp(createBackend);
      await accept(engine, [
        newEvent({ type: "voicemail.created", objectId: "vm_1" }),
        newEvent({ type: "voicemail.created", objectId: "vm_2", source: "reconcile" }),
        newEvent({ type: "call.completed", objectId: "vm_3" }),
      ]);
      const asked = ["vm_1", "vm_2", "vm_3", "vm_4", newEventId()];
      expect(await engine.ledger.known("voicemail.created", asked)).toEqual(new Set(["vm_1", "vm_2"]));
      expect(await engine.ledger.known("voicemail.created", [])).toEqual(new Set());
    });
  });
}
