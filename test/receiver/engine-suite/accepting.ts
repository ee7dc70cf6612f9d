import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newEventId } from "../helpers/events.ts";
import { accept, newEvent, newEvents, setUp, done, type CreateBackend } from "./harness.ts";

export function describeAccepting(name: string, createBackend: CreateBackend): void {
  describe(`${name}: accepting`, () => {
    test("stores an event that is pending, with its body byte for byte", async () => {
      const { engine } = await setUp(createBackend);
      const event = newEvent({ body: Buffer.from([0, 255, 0x7b, 0x22, 0xc3, 0xa9, 0x0a, 0]) });
      const beforeMs = await engine.nowMs();
      await accept(engine, [event]);
      const found = await engine.ledger.find(event.id);
      expect(found).toMatchObject({
        id: event.id,
        type: event.type,
        state: "pending",
        source: "webhook",
        attempts: 0,
        handled: 0,
        duplicates: 0,
        finishedAtMs: null,
        lastError: null,
      });
      expect(found!.receivedAtMs).toBeGreaterThanOrEqual(beforeMs - 1);
      expect(found!.receivedAtMs).toBeLessThanOrEqual((await engine.nowMs()) + 1);
      expect(Buffer.from((await engine.ledger.body(found!.seq))!).equals(event.body)).toBe(true);
      expect(await engine.ledger.find(newEventId())).toBeUndefined();
      expect(await engine.ledger.body(found!.seq + 1_000)).toBeUndefined();
    });

    test("answers for each of a batch in its order, however large or empty the batch is", async () => {
      const { engine } = await setUp(createBackend);
      expect(await engine.intake.accept([])).toEqual({ ok: true, acceptances: [] });
      const known = newEvents(500);
      await accept(engine, known);
      const mixed = known.flatMap((event) => [event, newEvent()]);
      const result = await engine.intake.accept(mixed);
      expect(result.ok && result.acceptances.map(({ duplicate }) => duplicate)).toEqual(
        mixed.map((_, index) => index % 2 === 0),
      );
      expect((await engine.ledger.counts()).byState.pending).toBe(1_000);
    });

    test("recognises an id within a batch, in another batch and in another process", async () => {
      const { engine, open } = await setUp(createBackend);
      const other = await open();
      const event = newEvent();
      const first = await engine.intake.accept([event, event]);
      expect(first).toEqual({ ok: true, acceptances: [{ duplicate: false }, { duplicate: true }] });
      const second = await other.intake.accept([event, newEvent()]);
      expect(second).toEqual({ ok: true, acceptances: [{ duplicate: true }, { duplicate: false }] });
      expect(await engine.ledger.find(event.id)).toMatchObject({ duplicates: 2 });
    });

    test("takes upper and lower case for the same id", async () => {
      const { engine } = await setUp(createBackend);
      const event = newEvent({ id: "evt_00112233445566778899aabbccddeeff" });
      const upper = { ...event, id: "evt_00112233445566778899AABBCCDDEEFF" };
      const mixed = { ...event, id: "evt_00112233445566778899aAbBcCdDeEfF" };
      expect(await engine.intake.accept([upper, mixed])).toEqual({
        ok: true,
        acceptances: [{ duplicate: false }, { duplicate: true }],
      });
      expect(await engine.intake.accept([event])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
      expect(await engine.ledger.find(event.id)).toEqual(await engine.ledger.find(upper.id));
      expect((await engine.ledger.counts()).byState.pending).toBe(1);
    });

    test("keeps one row an id when many bring it through several engines at once", async () => {
      const { engine, open } = await setUp(createBackend);
      const engines = [engine, await open(), await open()];
      const events = newEvents(20);
      const results = await Promise.all(
        Array.from({ length: 30 }, async (_, index) =>
          engines[index % 3]!.intake.accept(rotated(events, index)),
        ),
      );
      expect(results.filter(({ ok }) => !ok)).toEqual([]);
      const acceptances = results.flatMap((result) => (result.ok ? result.acceptances : []));
      expect(acceptances.filter(({ duplicate }) => !duplicate)).toHaveLength(events.length);
      expect((await engine.ledger.counts()).byState.pending).toBe(events.length);
      const found = await Promise.all(events.map(async ({ id }) => engine.ledger.find(id)));
      expect(found.map((event) => event?.duplicates)).toEqual(events.map(() => 29));
    });

    test("gives both hashes when an id comes with another body, and keeps the first body", async () => {
      const { engine } = await setUp(createBackend);
      const event = newEvent({ body: Buffer.from("first") });
      const second = { ...event, body: Buffer.from("second") };
      const differs = { storedSha256: sha256("first"), receivedSha256: sha256("second") };
      expect(await engine.intake.accept([event, second, event])).toEqual({
        ok: true,
        acceptances: [{ duplicate: false }, { duplicate: true, differs }, { duplicate: true }],
      });
      expect(await engine.intake.accept([second])).toEqual({
        ok: true,
        acceptances: [{ duplicate: true, differs }],
      });
      const found = await engine.ledger.find(event.id);
      expect(Buffer.from((await engine.ledger.body(found!.seq))!).toString()).toBe("first");
      expect(found).toMatchObject({ duplicates: 3 });
    });

    test("knows no object by a body that it didn't keep", async () => {
      const { engine } = await setUp(createBackend);
      const event = newEvent({ objectId: "kept" });
      await accept(engine, [newEvent()]);
      expect(await engine.intake.accept([event, { ...event, objectId: "other" }])).toMatchObject({
        acceptances: [{ duplicate: false }, { duplicate: true }],
      });
      expect(await engine.ledger.known(event.type, ["kept", "other"])).toEqual(new Set(["kept"]));
    });

    test("takes whatever type and object a signed envelope may name", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const odd = ["zero\0byte", "half a pair \ud83d", "x".repeat(100_000), "", "quote'\"\\%_", "\u202e名前"];
      const events = odd.map((text) => newEvent({ type: text, objectId: text }));
      await accept(engine, [newEvent(), ...events]);
      for (const { id, type } of events) {
        const listed = await engine.ledger.list({ type }, { limit: 10 });
        expect(listed.map((event) => event.id)).toEqual([id]);
      }
      await processing(done);
      expect(new Set((await ended(7)).map(({ outcome }) => outcome))).toEqual(new Set(["done"]));
    });

    test("says that it takes writes, until it is closed", async () => {
      const { engine } = await setUp(createBackend);
      expect(await engine.intake.probe()).toEqual({ ok: true });
      await engine.close();
      expect(await engine.intake.accept([newEvent()])).toMatchObject({ ok: false, reason: "closed" });
      expect(await engine.intake.probe()).toMatchObject({ ok: false, reason: "closed" });
    });
  });
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  return [...items.slice(by % items.length), ...items.slice(0, by % items.length)];
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
