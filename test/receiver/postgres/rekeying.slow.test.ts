import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import type { Handled, Outcome } from "../../../receiver/engine.ts";
import { accept, done, handler, newEvent, newEvents } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

const key = (): string => "one";

/** What a handler's key is before it changes, and after that. */
const CHANGES = [
  ["has got a key", undefined, key],
  ["has none any more", key, undefined],
] as const;

test.for(CHANGES)("a handler that %s is left to the workers that know of it", async ([, before, after]) => {
  const { url } = await postgresBackend();
  const [release, begun] = [signalled(), signalled()];
  const former = await driven(
    await opened(url),
    async () => {
      begun.give();
      await release.promise;
      return { kind: "done" };
    },
    { key: before, workerId: "former" },
  );
  const first = newEvent();
  const engine = await opened(url);
  await accept(engine, [first]);
  await begun.promise;
  const present = await driven(engine, done, { key: after, workerId: "present" });
  release.give();
  const events = newEvents(30);
  for (const event of events) await accept(engine, [event]);
  await until(
    () => present.handled,
    ({ length }) => length === events.length,
  );
  expect(former.handled.map(({ id }) => id)).toEqual([first.id]);
  expect([...former.troubles, ...present.troubles]).toEqual([]);
});

test("a job that an operator runs waits for the one before it with its key, and nothing fails meanwhile", async () => {
  const { url } = await postgresBackend();
  const [release, begun] = [signalled(), signalled()];
  const [first, second] = [newEvent(), newEvent()];
  const engine = await opened(url);
  await accept(engine, [first, second]);
  await driven(
    engine,
    async () => {
      begun.give();
      await release.promise;
      return { kind: "dead", error: "no" };
    },
    { key, concurrency: 1 },
  );
  await begun.promise;
  let slept = 0;
  const sleep: Clock["sleep"] = async (ms, signal) => {
    slept += 1;
    return systemClock.sleep(ms, signal);
  };
  const operators = await opened(url, { clock: { ...systemClock, sleep } });
  const [handled, troubles] = [[] as Handled[], [] as unknown[]];
  const processor = await operators.work.process({
    handlers: [handler({ key })],
    handle: done,
    workerId: "operator",
    concurrency: 1,
    only: { handler: "everything", id: second.id },
    onHandled: (one) => void handled.push(one),
    onTrouble: (error) => void troubles.push(error),
  });
  onTestFinished(async () => processor.drain(0));
  await until(
    () => slept,
    (times) => times > 3,
  );
  expect(handled).toEqual([]);
  release.give();
  await until(
    () => operators.ledger.find(second.id),
    (event) => event?.state === "dead" || event?.state === "done",
  );
  expect(troubles).toEqual([]);
});

test("what waited for another of its key begins beside it once their handler has none", async () => {
  const { url } = await postgresBackend();
  const [release, begun] = [signalled(), signalled()];
  const former = await driven(
    await opened(url),
    async () => {
      begun.give();
      await release.promise;
      return { kind: "failed", error: "not yet" };
    },
    { key, workerId: "former" },
  );
  const engine = await opened(url);
  const [first, ...others] = newEvents(4);
  await accept(engine, [first!, ...others]);
  await begun.promise;
  const present = await driven(engine, done, { workerId: "present" });
  const handled = (): string[] => present.handled.map(({ id }) => id).toSorted();
  const idsOf = (events: readonly { id: string }[]): string =>
    events
      .map(({ id }) => id)
      .toSorted()
      .join();
  await until(handled, (ids) => ids.join() === idsOf(others));
  expect(former.handled).toEqual([]);
  release.give();
  await until(handled, (ids) => ids.join() === idsOf([first!, ...others]));
  expect(present.troubles).toEqual([]);
});

test.for(CHANGES)(
  "what was being stored while a handler became one that %s is handled",
  async ([, before, after]) => {
    const backend = await postgresBackend();
    const engine = await opened(backend.url, { times: { acceptTimeoutMs: 60_000 } });
    const former = await driven(engine, done, { key: before });
    await former.processor.drain(0);
    const events = newEvents(3);
    const other = await storing(backend, events[1]!.id);
    const accepting = accept(engine, events);
    await other.waitedFor();
    const { handled, troubles } = await driven(engine, done, { key: after, concurrency: 1 });
    await other.giveUp();
    await accepting;
    await until(
      () => handled,
      ({ length }) => length === events.length,
    );
    expect(handled.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(troubles).toEqual([]);
  },
);

test.for(CHANGES)(
  "what is in hand or put off while its handler becomes one that %s is tried again",
  async ([, before, after]) => {
    const { url } = await postgresBackend();
    const [release, begun] = [signalled(), signalled()];
    const engine = await opened(url);
    const [waits, inHand, dead] = newEvents(3, { type: "other" });
    const failing = await driven(
      engine,
      async ({ id }): Promise<Outcome> => {
        if (id === dead!.id) return { kind: "dead", error: "hopeless" };
        if (id === waits!.id) return { kind: "failed", error: "not yet" };
        begun.give();
        await release.promise;
        return { kind: "failed", error: "not yet" };
      },
      { key: before, backoffMs: () => 100, workerId: "former" },
    );
    await accept(engine, [dead!]);
    await until(
      () => failing.handled,
      ({ length }) => length === 1,
    );
    await accept(engine, [inHand!]);
    await begun.promise;
    await accept(engine, [waits!]);
    const { handled, troubles } = await driven(await opened(url), done, { key: after, workerId: "present" });
    release.give();
    expect(await engine.ledger.requeue([dead!.id])).toBe(1);
    const ids = [waits!, inHand!, dead!]
      .map(({ id }) => id)
      .toSorted()
      .join();
    await until(
      () => handled.map(({ id }) => id).toSorted(),
      (all) => all.join() === ids,
    );
    expect(troubles).toEqual([]);
  },
);

/** Somebody who is just storing an event of this id, so that others who bring it have to wait, and then does not. */
async function storing({ url, rows }: Awaited<ReturnType<typeof postgresBackend>>, id: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(async () => client.end());
  await client.query("BEGIN");
  await client.query(`INSERT INTO receiver.ids VALUES ('${id.slice(4)}', 0, 0)`);
  return {
    waitedFor: async () =>
      until(
        async () => (await rows(WAITING)).length,
        (waiting) => waiting > 0,
      ),
    giveUp: async () => client.query("ROLLBACK"),
  };
}

const WAITING = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
