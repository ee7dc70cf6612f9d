import { createHash } from "node:crypto";
import { join } from "node:path";
import { onTestFinished, describe, expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Claim, Engine, Outcome } from "../../../receiver/engine.ts";
import { moveInbox, StillRunning, type MoveReport } from "../../../receiver/engines/postgres/move/move.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { administer, newDatabase } from "../../helpers/postgres/shared.ts";
import { accept, done, newEvent, newEvents } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { driven, opened } from "./opened.ts";

/** More than the move takes in one go. */
const MANY = 600;

describe("a move from SQLite to PostgreSQL", () => {
  test("takes every event along, as it is", async () => {
    const { url, sqlite, move, postgres } = await setUp();
    const [done, dead, ignored, failed, fresh, reconciled] = [
      newEvent({ type: "done" }),
      newEvent({ type: "dead" }),
      newEvent({ type: "ignored" }),
      newEvent({ type: "failed" }),
      newEvent({ type: "failed", body: Buffer.from([0, 255, 10, 13]) }),
      newEvent({ type: "done", objectId: "call_1", source: "reconcile" }),
    ];
    await accept(sqlite, [done, dead, ignored, failed, reconciled]);
    const sameObject = { ...newEvent({ type: "done", objectId: "call_1" }) };
    await sqlite.intake.accept([done, done, sameObject]);
    const { processor } = await driven(sqlite, byType, {
      types: ["done", "dead", "failed"],
      backoffMs: () => 3_600_000,
    });
    await until(
      () => sqlite.ledger.counts(),
      ({ byState }) => byState.done === 2 && byState.dead === 1 && byState.ignored === 1,
    );
    await until(
      () => sqlite.ledger.find(failed.id),
      (found) => found?.state === "pending" && found.attempts === 1,
    );
    await processor.drain(0);
    await accept(sqlite, [fresh]);
    await sqlite.ledger.setBookmark("reconcile calls", "there");

    expect(await move(true)).toEqual({
      moved: 6,
      alreadyThere: 0,
      waiting: 0,
      handedOver: 2,
      compared: 6,
      different: [],
    });
    for (const event of [done, dead, ignored, failed, fresh, reconciled]) {
      const before = await find(sqlite, event.id);
      const after = await find(postgres, event.id);
      expect(after).toEqual({ ...before, nextAttemptAtMs: after.nextAttemptAtMs });
      expect(after.nextAttemptAtMs).toBeCloseTo(before.nextAttemptAtMs ?? 0, -1);
      expect(after.body).toBe(hashOf(event.body));
    }
    expect(await find(postgres, done.id)).toMatchObject({ state: "done", handled: 1, duplicates: 2 });
    expect(await postgres.ledger.bookmark("reconcile calls")).toBe("there");
    // Duplicates are recognised by either id, and reconcile knows what it had enqueued.
    const again = await postgres.intake.accept([done, sameObject, fresh]);
    expect(again).toMatchObject({
      acceptances: [{ duplicate: true }, { duplicate: true }, { duplicate: true }],
    });
    expect(await postgres.ledger.known("done", ["call_1", "call_2"])).toEqual(new Set(["call_1"]));

    // The hour is over.
    await administer(url, "UPDATE receiver_boss.job SET start_after = now() WHERE state = 'retry'");
    const { handled } = await driven(postgres, async () => ({ kind: "done" }));
    await until(
      () => handled,
      ({ length }) => length === 2,
    );
    expect(handled.map(({ id, attempt }) => ({ id, attempt })).toSorted(byAttempt)).toEqual([
      { id: fresh.id, attempt: 1 },
      { id: failed.id, attempt: 2 },
    ]);
  });

  test("takes the second ids of events along, all of them", async () => {
    const { sqlite, move, postgres } = await setUp();
    const found = newEvents(251).map((event, n) => ({
      ...event,
      objectId: `call_${String(n)}`,
      source: "reconcile" as const,
    }));
    await accept(sqlite, found);
    const late = newEvents(251).map((event, n) => ({ ...event, objectId: `call_${String(n)}` }));
    await sqlite.intake.accept(late);
    await move(true);
    // Under another object each is known by its id alone.
    const again = await postgres.intake.accept(late.map((event) => ({ ...event, objectId: null })));
    expect(again).toEqual({ ok: true, acceptances: late.map(() => ({ duplicate: true })) });
    expect(await postgres.ledger.find(late.at(-1)!.id)).toMatchObject({ id: found.at(-1)!.id });
  });

  test("leaves nothing out and moves nothing twice when it breaks off and events go on coming", async () => {
    const { sqlite, move, postgres } = await setUp();
    const { processor } = await driven(sqlite, record);
    const first = newEvents(MANY);
    await accept(sqlite, first);
    await until(
      () => sqlite.ledger.counts(),
      ({ byState }) => byState.done === MANY,
    );
    const broken = new Error("as if it were killed");
    const killed = move(false, () => {
      throw broken;
    });
    await expect(killed).rejects.toBe(broken);
    const movedBefore = await movedIn(postgres);
    expect(movedBefore).toBeGreaterThan(0);
    expect(movedBefore).toBeLessThan(MANY);

    const later = newEvents(MANY);
    await Promise.all([accept(sqlite, later), move(false)]);
    expect((await move(false)).moved).toBeLessThanOrEqual(MANY);
    await until(
      () => sqlite.ledger.counts(),
      ({ byState }) => byState.done === 2 * MANY,
    );
    expect((await move(false)).waiting).toBe(0);
    await processor.drain(0);
    expect(await move(true)).toMatchObject({ moved: 0, alreadyThere: 0, handedOver: 0, different: [] });
    expect((await postgres.ledger.counts()).byState).toMatchObject({
      done: 2 * MANY,
      claimed: 0,
      pending: 0,
    });
    const { handled } = await driven(postgres, record);
    await accept(postgres, newEvents(1));
    await until(
      () => handled,
      ({ length }) => length > 0,
    );
    expect(handled).toHaveLength(1);
  });

  test("comes back to a page that something was missing of, however much has moved behind it", async () => {
    const { sqlite, move, postgres } = await setUp();
    const events = newEvents(MANY);
    await accept(sqlite, events);
    const waits = events[1]!.id;
    const { processor } = await driven(sqlite, async ({ id, attempt }) =>
      id === waits && attempt === 1 ? { kind: "later", reason: "not yet", delayMs: 3_600_000 } : done(),
    );
    await until(
      () => sqlite.ledger.counts(),
      ({ byState }) => byState.done === MANY - 1,
    );
    await processor.drain(0);
    for (const alreadyThere of [0, MANY - 1]) {
      const moved = MANY - 1 - alreadyThere;
      expect(await move(false)).toMatchObject({ moved, alreadyThere, waiting: 1, compared: MANY - 1 });
    }
    expect(await postgres.ledger.find(waits)).toBeUndefined();
    expect(await move(true)).toMatchObject({ moved: 1, handedOver: 1, compared: MANY, different: [] });
    expect(await move(true)).toMatchObject({ moved: 0, alreadyThere: 0, compared: 0 });
    const again = await postgres.intake.accept(events);
    expect(again).toEqual({ ok: true, acceptances: events.map(() => ({ duplicate: true })) });
  });

  test("leaves what is in hand to its receiver until the end, though others handle what is new there", async () => {
    const { sqlite, move, postgres } = await setUp();
    const event = newEvent();
    await accept(sqlite, [event]);
    const claimed = signalled();
    const release = signalled();
    const { processor, handled: here } = await driven(sqlite, async () => {
      claimed.give();
      await release.promise;
      return { kind: "done" };
    });
    await claimed.promise;
    expect(await move(false)).toMatchObject({ moved: 0, waiting: 1 });
    expect(await postgres.ledger.find(event.id)).toBeUndefined();
    const { handled } = await driven(postgres, async () => ({ kind: "done" }));
    await accept(postgres, newEvents(1));
    await until(
      () => handled,
      ({ length }) => length > 0,
    );
    await expect(move(true)).rejects.toThrow(StillRunning);
    release.give();
    await until(
      () => here,
      ({ length }) => length > 0,
    );
    await processor.drain(0);
    expect(await move(true)).toMatchObject({ moved: 1, waiting: 0, handedOver: 0 });
    expect(await find(postgres, event.id)).toMatchObject({ state: "done", handled: 1 });
    expect(handled.map(({ id }) => id)).not.toContain(event.id);
  });

  test("takes the ids of pruned events along, and how far pruning went", async () => {
    const { sqlite, move, postgres } = await setUp();
    const [pruned] = newEvents(1);
    if (!pruned) throw new Error("none");
    await accept(sqlite, [pruned]);
    const { processor, handled } = await driven(sqlite, record);
    await until(
      () => handled,
      ({ length }) => length > 0,
    );
    await processor.drain(0);
    await sqlite.ledger.prune({ bodiesOlderThanMs: -1_000, idsOlderThanMs: 1_000_000 });
    await move(true);
    expect(await postgres.ledger.find(pruned.id)).toMatchObject({ state: "pruned", handled: 1 });
    expect(await postgres.intake.accept([pruned])).toMatchObject({ acceptances: [{ duplicate: true }] });
    expect(await postgres.ledger.prunedBeforeMs()).toBe(await sqlite.ledger.prunedBeforeMs());
  });

  test("names what isn't the same there, and closes the old inbox for good at its end", async () => {
    const { file, url, sqlite, move, postgres } = await setUp();
    const [event, changed] = [newEvent(), newEvent()];
    await accept(sqlite, [changed]);
    const { processor, handled } = await driven(sqlite, record);
    await until(
      () => handled,
      ({ length }) => length > 0,
    );
    await processor.drain(0);
    const brokenOff = move(false, () => {
      throw new Error("before it has compared anything");
    });
    await expect(brokenOff).rejects.toThrow("before");
    await administer(url, "UPDATE receiver.events SET body = 'something else'");
    await accept(sqlite, [event]);
    await accept(postgres, [{ ...event, body: Buffer.from("{}") }]);
    expect(await move(true)).toMatchObject({ moved: 0, alreadyThere: 2, different: [changed.id, event.id] });
    await expect(openSqliteEngine({ file, clock: systemClock })).rejects.toThrow(
      /was moved to postgres:\/\/127.*set DATABASE_URL/,
    );
    // Whoever had it open when it was closed may have stored something since: another run takes it along.
    await accept(sqlite, newEvents(1));
    const different = [changed.id, event.id];
    expect(await move(true)).toMatchObject({ moved: 1, handedOver: 1, different });
  });
});

test("a move takes events to where jobs have the tables of another profile", async () => {
  const { file, url, sqlite } = await setUp();
  const elsewhere = { databaseSchema: "elsewhere", postgresBackend: "cockroachdb" } as const;
  const engine = await opened(url, elsewhere);
  const event = newEvent();
  await accept(sqlite, [event]);
  const { processor } = await driven(sqlite, done);
  await until(
    () => sqlite.ledger.find(event.id),
    (found) => found?.state === "done",
  );
  await processor.drain(0);
  const target = { url, schema: elsewhere.databaseSchema, backend: elsewhere.postgresBackend };
  const move = { ...target, file, finish: true, onProgress: () => undefined, nowMs: Date.now };
  expect(await moveInbox(move)).toMatchObject({ moved: 1, different: [] });
  expect(await engine.ledger.find(event.id)).toMatchObject({ state: "done", jobs: [{ state: "done" }] });
});

/** Both engines, and the move between them; what it holds is looked at by engines that stay open. */
async function setUp(): Promise<{
  file: string;
  url: string;
  sqlite: Engine;
  postgres: Engine;
  move: (finish: boolean, onProgress?: () => void) => Promise<MoveReport>;
}> {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const file = join(temporaryDirectory(), "receiver.db");
  const sqlite = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(sqlite.close);
  return {
    file,
    url,
    sqlite,
    postgres: await opened(url),
    move: async (finish, onProgress = () => undefined) =>
      moveInbox({ file, url, finish, onProgress, nowMs: Date.now }),
  };
}

async function byType({ type }: Claim): Promise<Outcome> {
  if (type === "done") return { kind: type };
  return type === "dead" ? { kind: "dead", error: "hopeless" } : { kind: "failed", error: "not yet" };
}

async function record(claim: Claim): Promise<Outcome> {
  await claim.atomically(claim.signal)(async (db) => {
    await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
  });
  return { kind: "done" };
}

/** All that is known of an event, but its place in the inbox. */
async function find(engine: Engine, id: string) {
  const found = await engine.ledger.find(id);
  if (!found) throw new Error(`${id} is not there.`);
  const { seq, ...event } = found;
  const body = await engine.ledger.body(seq);
  return { ...event, body: body && hashOf(body) };
}

async function movedIn(engine: Engine): Promise<number> {
  const { byState } = await engine.ledger.counts();
  return Object.values(byState).reduce((sum, count) => sum + count, 0);
}

function hashOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

function byAttempt(a: { attempt: number }, b: { attempt: number }): number {
  return a.attempt - b.attempt;
}
