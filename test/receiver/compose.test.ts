import { expect, onTestFinished, test } from "vitest";
import { join } from "node:path";
import { systemClock } from "../../receiver/clock.ts";
import { compose } from "../../receiver/compose.ts";
import type { AcceptResult, Engine } from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createLog } from "../../receiver/operations/log.ts";
import type { Answer } from "../../receiver/intake/answers.ts";
import { newBody, signatureFor } from "./helpers/events.ts";
import { testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** How the parts hang together, with a worker and a database that do what the test says. */

async function composed(overrides: Partial<Engine["intake"]> = {}) {
  const engine = await openSqliteEngine({ file: join(temporaryDirectory(), "receiver.db"), clock: systemClock });
  const happened: string[] = [];
  const stopped = Promise.withResolvers<void>();
  const receiver = await compose({
    config: testConfig({ SHUTDOWN_TIMEOUT_SECONDS: "9" }),
    engine: { ...engine, intake: { ...engine.intake, ...overrides } },
    clock: systemClock,
    log: createLog({ level: "silent" }),
    environment: {},
    startWork: async () => ({
      alive: () => true,
      wake: () => void happened.push("wake"),
      stop: async (graceMs) => {
        happened.push(`stop ${String(graceMs)}`);
        await stopped.promise;
      },
    }),
  });
  onTestFinished(async () => {
    stopped.resolve();
    await receiver.close();
  });
  const body = newBody();
  const send = async (): Promise<number | undefined> => {
    const answers: Answer[] = [];
    await receiver.webhook(
      {
        method: "POST",
        path: "/webhooks",
        id: undefined,
        signatures: [signatureFor(body)],
        traceparent: undefined,
        encoding: undefined,
        announcedBytes: undefined,
        readBody: async () => ({ ok: true, bytes: body }),
      },
      (answer) => void answers.push(answer),
    );
    return answers[0]?.status;
  };
  return { receiver, happened, send, stopped };
}

test.each<[string, Partial<Engine["intake"]>, number, string[]]>([
  ["is stored", {}, 200, ["wake"]],
  ["is not", { accept: async (): Promise<AcceptResult> => ({ ok: false, reason: "full", detail: "" }) }, 503, []],
])("a worker is woken by what %s", async (_how, intake, status, happened) => {
  const world = await composed(intake);
  expect([await world.send(), world.happened]).toEqual([status, happened]);
});

test("a drain takes nothing more at once, and waits for what is being answered and for the worker alike", async () => {
  const committed = Promise.withResolvers<AcceptResult>();
  const { receiver, happened, send, stopped } = await composed({ accept: async () => committed.promise });
  const answered = send().then((status) => void happened.push(`answered ${String(status)}`));
  const drained = receiver.drain().then(() => void happened.push("drained"));
  expect(await send()).toBe(503);
  expect(happened).toEqual(["stop 7500"]);
  committed.resolve({ ok: true, acceptances: [{ duplicate: false }] });
  await answered;
  await new Promise(setImmediate);
  expect(happened).toEqual(["stop 7500", "wake", "answered 200"]);
  stopped.resolve();
  await drained;
  expect(happened.at(-1)).toBe("drained");
});
