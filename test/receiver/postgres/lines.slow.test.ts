import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { accept, done, handler, newEvent, newEvents, record } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";
import { proxyTo } from "./proxy.ts";

test("a commit whose answer was lost is refused as of unknown outcome, and the retry is a duplicate", async () => {
  const { url } = await postgresBackend();
  const proxy = await proxyTo(url);
  const engine = await opened(proxy.url);
  await accept(engine, [newEvent()]);
  const event = newEvent();
  proxy.cutAnswer("SELECT");
  expect(await engine.intake.accept([event])).toMatchObject({ ok: false, reason: "outcome_unknown" });
  expect(await engine.intake.accept([event])).toEqual({ ok: true, acceptances: [{ duplicate: true }] });
  // The control: without the cut the same is new.
  await accept(engine, [newEvent()]);
});

test("a handler's commit whose answer was lost counts, and its effect is there once", async () => {
  const { url, rows } = await postgresBackend();
  const proxy = await proxyTo(url);
  const engine = await opened(proxy.url);
  const event = newEvent();
  await accept(engine, [event]);
  const { handled } = await driven(engine, async (claim) => {
    await claim.atomically(claim.signal)(async (db) => {
      await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
      if (claim.attempt === 1) proxy.cutAnswer("COMMIT");
    });
    return { kind: "done" };
  });
  const [first] = await until(
    () => handled,
    ({ length }) => length > 0,
  );
  expect(first).toMatchObject({ attempt: 1, outcome: "done" });
  expect(await rows("SELECT attempt FROM effects")).toEqual([{ attempt: 1 }]);
  expect(await engine.ledger.find(event.id)).toMatchObject({ state: "done", handled: 1 });
});

test("what was claimed by a statement whose answer was lost is put back at once, and costs no attempt", async () => {
  const { url } = await postgresBackend();
  const proxy = await proxyTo(url);
  // By this clock no heartbeat is ever due: only the trouble itself can be the reason.
  const engine = await opened(proxy.url, { clock: { ...systemClock, monotonicMs: () => 0 } });
  const event = newEvent();
  await accept(engine, [event]);
  await (
    await opened(url)
  ).work
    .process({ ...NOBODY, handlers: [handler()] })
    .then(async (one) => one.drain(0));
  proxy.cutAnswer("COMMIT");
  const { handled, troubles } = await driven(engine, done, { migrations: [] });
  await until(
    () => handled,
    ({ length }) => length === 1,
  );
  expect(handled[0]).toMatchObject({ id: event.id, attempt: 1, outcome: "done" });
  expect(troubles).not.toEqual([]);
});

test("a claim whose transaction is refused its beginning claims nothing", async () => {
  const { url } = await postgresBackend();
  const proxy = await proxyTo(url);
  const engine = await opened(proxy.url);
  await (await driven(engine, done)).processor.drain(0);
  proxy.spoil("BEGIN; SET LOCAL synchronous_commit");
  const events = newEvents(5);
  await accept(engine, events);
  const { handled, troubles } = await driven(engine, done, { workerId: "another" });
  // Were they claimed outside of it, nobody would know whose they are.
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.done === events.length,
  );
  expect(handled.map(({ attempt }) => attempt)).toEqual(events.map(() => 1));
  expect(troubles).toHaveLength(1);
});

test("a handler's transaction that is refused its beginning writes nothing", async () => {
  const { url, rows } = await postgresBackend();
  const proxy = await proxyTo(url);
  const engine = await opened(proxy.url);
  await accept(engine, [newEvent()]);
  const { handled } = await driven(engine, async (claim) => {
    if (claim.attempt === 1) proxy.spoil("BEGIN; SET LOCAL search_path");
    return record(claim);
  });
  await until(
    () => handled,
    ({ length }) => length === 2,
  );
  expect(handled).toMatchObject([{ outcome: "failed" }, { outcome: "done" }]);
  expect(await rows("SELECT attempt FROM effects")).toEqual([{ attempt: 2 }]);
});

test("a worker that holds an event twice can end it by the later claim alone", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  await accept(engine, [newEvent()]);
  const begun = [signalled(), signalled()];
  const goOn = [signalled(), signalled()];
  const { handled } = await driven(engine, async ({ attempt }) => {
    begun[attempt - 1]?.give();
    await goOn[attempt - 1]?.promise;
    return { kind: "done" };
  });
  await begun[0]?.promise;
  await administer(url, "UPDATE receiver_boss.job SET state = 'retry'");
  await begun[1]?.promise;
  goOn[0]?.give();
  await until(
    () => handled,
    ({ length }) => length === 1,
  );
  goOn[1]?.give();
  await until(
    () => handled,
    ({ length }) => length === 2,
  );
  expect(handled.map(({ attempt, outcome }) => `${String(attempt)} ${outcome}`)).toEqual([
    "1 lost",
    "2 done",
  ]);
});

test("a worker whose lines fall silent begins anew on others, and a commit among them counts once", async () => {
  const { url, rows } = await postgresBackend();
  const proxy = await proxyTo(url);
  const engine = await opened(proxy.url, { times: { answerTimeoutMs: 500 } });
  await accept(engine, [newEvent()]);
  const { handled } = await driven(engine, async (claim) => {
    await claim.atomically(claim.signal)(async (db) => {
      await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
      if (handled.length === 0) proxy.silence();
    });
    return { kind: "done" };
  });
  await until(
    () => handled.length,
    (length) => length > 0,
  );
  const other = await opened(url);
  await accept(other, [newEvent()]);
  await until(
    () => other.ledger.counts(),
    ({ byState }) => byState.done === 2,
  );
  expect(await rows("SELECT count(*)::int, count(DISTINCT event_id)::int AS events FROM effects")).toEqual([
    { count: 2, events: 2 },
  ]);
});

test("lines that are cut again and again lose no acknowledged event and repeat no effect", async () => {
  const { url, rows } = await postgresBackend();
  const proxy = await proxyTo(url);
  const engine = await opened(proxy.url);
  const acknowledged = new Set<string>();
  await driven(engine, record);
  for (let round = 0; round < 12; round += 1) {
    const batches = Array.from({ length: 4 }, () => newEvents(5));
    const results = Promise.all(batches.map(async (batch) => engine.intake.accept(batch)));
    if (round % 3 === 0) proxy.cutAnswer("SELECT");
    if (round % 3 === 1) proxy.cutAll();
    for (const [index, result] of (await results).entries()) {
      if (result.ok) for (const { id } of batches[index] ?? []) acknowledged.add(id);
    }
  }
  expect(acknowledged.size).toBeGreaterThan(50);
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.pending + byState.claimed === 0,
  );
  const effects = (await rows("SELECT event_id FROM effects")).map(({ event_id }) => String(event_id));
  expect(new Set(effects).size).toBe(effects.length);
  expect([...acknowledged].filter((id) => !effects.includes(id))).toEqual([]);
});

test("killed backends are replaced, and what they were at is done once", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  const { handled } = await driven(engine, record);
  const events = newEvents(120);
  for (let at = 0; at < events.length; at += 20) {
    const batch = events.slice(at, at + 20);
    await administer(url, KILL_OTHERS);
    await until(
      () => engine.intake.accept(batch),
      ({ ok }) => ok,
    );
  }
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.done === events.length,
  );
  expect(
    await rows("SELECT count(*)::int AS effects, count(DISTINCT event_id)::int AS events FROM effects"),
  ).toEqual([{ effects: events.length, events: events.length }]);
  expect(handled.filter(({ outcome }) => outcome === "dead")).toEqual([]);
});

test("a lost LISTEN connection is replaced, and polling stands in for it meanwhile", async () => {
  const { url, rows } = await postgresBackend();
  // So slow to look by itself that only a job can be the reason.
  const engine = await opened(url, { times: { lookMs: 60_000 } });
  const { handled } = await driven(engine, done);
  const handledAll = async (count: number): Promise<void> => {
    await accept(engine, [newEvent()]);
    await until(
      () => handled.length,
      (length) => length === count,
    );
  };
  await handledAll(1);
  const listeners = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN "receiver_stored"' AND pid <> pg_backend_pid()`;
  const [before] = await until(
    () => rows(listeners),
    ({ length }) => length > 0,
  );
  await administer(url, `SELECT pg_terminate_backend(${String(before?.["pid"])})`);
  await handledAll(2);
  await until(
    () => rows(listeners),
    (found) => found.some(({ pid }) => pid !== before?.["pid"]),
  );
  await handledAll(3);
  expect(handled.every(({ outcome }) => outcome === "done")).toBe(true);
});

test("a server that isn't there is refused as a lost connection, and handling goes on when it is back", async () => {
  const { url } = await postgresBackend();
  const proxy = await proxyTo(url);
  const nowhere = new URL(url);
  nowhere.port = "1";
  await expect(opened(nowhere.href)).rejects.toThrow(/ECONNREFUSED/);
  const engine = await opened(proxy.url);
  proxy.cutAll();
  await until(
    () => engine.intake.probe(),
    ({ ok }) => ok,
  );
});

/** Announces a handler, and handles nothing. */
const NOBODY = {
  workerId: "nobody",
  concurrency: 0,
  handle: done,
  onHandled: () => undefined,
  onTrouble: () => undefined,
};

const KILL_OTHERS = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'voice-agent-receiver%'`;
