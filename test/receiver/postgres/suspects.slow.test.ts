import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { accept, done, newEvent } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

test("a suspect whose turn has come begins once nothing else runs, and nothing begins beside it", async () => {
  const { url } = await postgresBackend();
  let slept = 0;
  const sleep: Clock["sleep"] = async (ms, signal) => {
    slept += 1;
    return systemClock.sleep(ms, signal);
  };
  const engine = await opened(url, { clock: { ...systemClock, sleep } });
  const { processor } = await driven(engine, done);
  await processor.drain(0);
  const [suspect, running, later] = [newEvent(), newEvent(), newEvent()];
  await accept(engine, [suspect]);
  await administer(url, "UPDATE receiver_boss.job SET priority = 2");
  await accept(engine, [running]);
  const begun: string[] = [];
  const goOn = new Map([suspect, running, later].map(({ id }) => [id, signalled()]));
  await driven(engine, async ({ id }) => {
    begun.push(id);
    await goOn.get(id)?.promise;
    return { kind: "done" };
  });
  await until(
    () => begun,
    ({ length }) => length === 1,
  );
  // Once the worker has looked a few times, it has found the suspect, and waits for the other to end.
  const sleptBefore = slept;
  await until(
    () => slept,
    (times) => times > sleptBefore + 3,
  );
  expect(begun).toEqual([running.id]);
  goOn.get(running.id)?.give();
  await until(
    () => begun,
    ({ length }) => length === 2,
  );
  await accept(engine, [later]);
  expect(begun).toEqual([running.id, suspect.id]);
  goOn.get(suspect.id)?.give();
  await until(
    () => begun,
    ({ length }) => length === 3,
  );
  goOn.get(later.id)?.give();
});

test("what a worker claims while it is being taken for dead is taken from it with the rest", async () => {
  const { url, rows } = await postgresBackend();
  const gate = new Client({ connectionString: url });
  await gate.connect();
  onTestFinished(async () => gate.end());
  await gate.query(`${GATE}; SELECT pg_advisory_lock(1)`);
  // By its clock, its lease never ends.
  const late = await opened(url, { clock: { ...systemClock, monotonicMs: () => 0 } });
  const [begun, goOn] = [signalled(), signalled()];
  const lost = await driven(late, async () => {
    begun.give();
    await goOn.promise;
    return { kind: "done" };
  });
  await until(
    () => rows("UPDATE receiver.workers SET lease_until = now() - interval '1 s' RETURNING id"),
    ({ length }) => length === 1,
  );
  const { handled } = await driven(await opened(url), done, { workerId: "taker" });
  // What it sees of other transactions is settled by then.
  await until(
    () => rows("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"),
    ({ length }) => length === 1,
  );
  const event = newEvent();
  await accept(late, [event]);
  await begun.promise;
  await gate.query("SELECT pg_advisory_unlock(1)");
  await until(
    () => handled,
    ({ length }) => length === 1,
  );
  expect(handled).toMatchObject([{ id: event.id, outcome: "done" }]);
  goOn.give();
  await until(
    () => lost.handled.map(({ outcome }) => outcome),
    (outcomes) => outcomes.join() === "lost",
  );
});

/** Whoever forgets workers waits for a lock, once the statement has begun and before it has looked for them. */
const GATE = `
  CREATE FUNCTION public.wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
  CREATE TRIGGER gate BEFORE DELETE ON receiver.workers FOR EACH STATEMENT EXECUTE FUNCTION public.wait_at_gate()`;
