import { expect, onTestFinished, test } from "vitest";
import { LEASE_MS } from "../../../receiver/engine.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { get, idOf, newBody, post } from "../helpers/events.ts";
import { startProcess, type ReceiverProcess } from "../helpers/process.ts";
import { until } from "../helpers/until.ts";

/** As many as several workers are still busy with while one of them is killed. */
const EVENTS = 150;
const KILL_AFTER = 50;

test("two processes that take events and two that handle them lose nothing and do nothing twice when one of each is killed", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const start = async (role: string): Promise<ReceiverProcess> =>
    startProcess({ environment: { DATABASE_URL: url, RECEIVER_ROLE: role, LOG_LEVEL: "info" } });
  const [taking, alsoTaking, ...workers] = await Promise.all([
    start("ingest"),
    start("ingest"),
    start("worker"),
    start("worker"),
  ]);
  // One that says it works has only just asked for the process of its handlers.
  await Promise.all(workers.map(isReady));

  const acknowledged: string[] = [];
  let killed: Promise<unknown> | undefined;
  const lane = async (to: () => ReceiverProcess): Promise<void> => {
    while (acknowledged.length < EVENTS) {
      const body = newBody();
      const answer = await post(to().url, body).catch(() => undefined);
      if (answer?.status === 200) acknowledged.push(idOf(body));
      // Without a chance to return or to finish anything: the process and that of its handlers.
      if (acknowledged.length > KILL_AFTER) killed ??= Promise.all([workers[0]?.kill(), taking.kill()]);
    }
  };
  const either = (): ReceiverProcess => (killed === undefined ? taking : alsoTaking);
  await Promise.all([lane(either), lane(either), lane(() => alsoTaking), lane(() => alsoTaking)]);
  const sentAtMs = performance.now();

  for (const id of acknowledged) {
    const shown = await until(
      async () => (await get(`${alsoTaking.adminUrl}/inbox/${id}`)).json(),
      (event) => (event as { handled: number }).handled > 0,
    );
    expect(shown).toMatchObject({ state: "done", handled: 1 });
  }
  // What the dead held is free when their lease is over; the rest is for a machine that is busy with other tests.
  expect(performance.now() - sentAtMs).toBeLessThan(2 * LEASE_MS);
});

async function isReady({ adminUrl }: ReceiverProcess): Promise<void> {
  await until(
    async () => (await get(`${adminUrl}/readyz`)).status,
    (status) => status === 200,
  );
}
