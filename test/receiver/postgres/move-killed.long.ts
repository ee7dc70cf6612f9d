import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../receiver/clock.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import { accept, newEvent } from "../engine-suite/harness.ts";
import { get, idOf, newBody, post } from "../helpers/events.ts";
import { MAIN, runCommand, startProcess } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { opened } from "./opened.ts";
import { proxyTo, type Proxy } from "./proxy.ts";

/** Two batches of a move, and something. */
const BATCH = 250;
const BEFORE = 2 * BATCH + 100;
/** What the last move finds. */
const LEFT = 40;

const reportSchema = z.object({
  moved: z.number(),
  already_there: z.number(),
  handed_over: z.number(),
  waiting: z.number(),
  compared: z.number(),
  different: z.array(z.string()),
});

test("a move that is killed again and again, while its receiver goes on, brings every event once", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const proxy = await proxyTo(url);
  const file = join(temporaryDirectory(), "receiver.db");
  const bodies = Array.from({ length: BEFORE }, () => newBody());
  await seed(file, bodies);
  const environment = { DATABASE_URL: `sqlite:${file}` };
  const receiver = await startProcess({ environment });
  // Asked once for all: one by one, a thousand requests took half of the time.
  const areHandled = async (): Promise<unknown> =>
    until(
      async () => (await get(`${receiver.adminUrl}/metrics`)).text(),
      (text) =>
        ["pending", "claimed", "dead"].every((state) =>
          text.includes(`receiver_inbox_events{state="${state}"} 0\n`),
        ),
    );
  await areHandled();
  const enough = new AbortController();
  const load = (async () => {
    while (!enough.signal.aborted) {
      const body = newBody();
      const answer = await post(receiver.url, body).catch(() => undefined);
      if (answer?.status === 200) bodies.push(body);
    }
  })();

  const words = ["move", "--to", proxy.url, "--json"];
  const there = await opened(url);
  const counted = async (): Promise<number> =>
    Object.values((await there.ledger.counts()).byState).reduce((sum, count) => sum + count, 0);
  // Before it has stored anything; then after its first batch, and it doesn't know.
  await killOn(proxy, "INSERT 0", words, environment);
  expect(await counted()).toBe(0);
  await killOn(proxy, `SELECT ${String(BATCH)}`, words, environment);
  expect(await counted()).toBe(BATCH);

  const third = await move(words, environment);
  expect(third.moved).toBeGreaterThanOrEqual(BEFORE - BATCH);
  expect(third).toMatchObject({ already_there: BATCH, different: [] });
  expect(third.compared).toBe(third.moved + BATCH);
  enough.abort();
  await load;
  // What waited then holds up the mark: the next one looks at it again, and marks all.
  await areHandled();
  expect(await move(words, environment)).toMatchObject({ waiting: 0, different: [] });
  const left = Array.from({ length: LEFT }, () => newBody());
  for (const body of left) expect((await post(receiver.url, body)).status).toBe(200);
  bodies.push(...left);
  receiver.child.kill("SIGTERM");
  await receiver.exited;

  // It has marked what it brought when it dies: the next one brings none of that again.
  await killOn(proxy, "INSERT 0 1", [...words, "--finish"], environment);
  const last = await move([...words, "--finish"], environment);
  expect(last).toMatchObject({ moved: 0, already_there: 0, waiting: 0, different: [] });
  expect(await counted()).toBe(bodies.length);
  const again = await there.intake.accept(bodies.map((body) => newEvent({ id: idOf(body), body })));
  expect(again.ok && again.acceptances.filter(({ duplicate }) => !duplicate)).toEqual([]);
  const { byState } = await there.ledger.counts();
  expect(byState).toMatchObject({ claimed: 0, dead: 0 });
  expect(byState.done + byState.ignored + byState.pending).toBe(bodies.length);
});

async function seed(file: string, bodies: readonly Buffer[]): Promise<void> {
  const engine = await openSqliteEngine({ file, clock: systemClock });
  await accept(
    engine,
    bodies.map((body) => newEvent({ id: idOf(body), body })),
  );
  await engine.close();
}

/** Starts a move and kills it while it waits for an answer with this in it, which the server has given. */
async function killOn(
  proxy: Proxy,
  answer: string,
  words: readonly string[],
  environment: Record<string, string>,
): Promise<void> {
  const { held, letGo } = proxy.holdAnswer(answer);
  const child = spawn(process.execPath, [...RUN_TYPESCRIPT, MAIN, ...words], {
    env: { PATH: process.env["PATH"], ...environment },
    stdio: "ignore",
  });
  const exited = new Promise<NodeJS.Signals | null>((resolve) => {
    child.once("exit", (_code, signal) => resolve(signal));
  });
  await Promise.race([held, exited]);
  child.kill("SIGKILL");
  expect(await exited).toBe("SIGKILL");
  letGo();
}

async function move(
  words: readonly string[],
  environment: Record<string, string>,
): Promise<z.infer<typeof reportSchema>> {
  const { code, stdout, stderr } = await runCommand(words, environment);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return reportSchema.parse(JSON.parse(stdout));
}
