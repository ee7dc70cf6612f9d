import Database from "better-sqlite3";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createLog } from "../../../../receiver/operations/log.ts";
import { openSqliteStore } from "../../../../receiver/store/sqlite.ts";
import { startWorker } from "../../../../receiver/work/worker.ts";
import { movableClock } from "../../helpers/clock.ts";
import { idOf, newBody, post } from "../../helpers/events.ts";
import type { ReceiverProcess } from "../../helpers/process.ts";
import { testConfig } from "../../helpers/receiver.ts";
import { until } from "../../helpers/until.ts";
import { countingHandlers } from "./handlers.ts";

const CONNECTIONS = 4;

export const CRASHING_RECEIVER = fileURLToPath(new URL("./receiver.ts", import.meta.url));

/** What the client knows: which events were acknowledged, before which kill, and which may have been stored. */
export type Ledger = { acknowledged: Map<string, string>; sent: Set<string> };

/**
 * Sends events on several connections, some of them twice, until the receiver is dead. With `afterAcknowledgements`,
 * kills the receiver itself after so many acknowledgements.
 */
export async function loadUntilGone(
  receiver: ReceiverProcess,
  ledger: Ledger,
  options: {
    /** How the ledger calls this end of the receiver. */
    where: string;
    type?: string;
    /** `handled` counts `ms` from the first event that was handled. */
    killAfter?: { ms?: number; acknowledgements?: number; handled?: boolean };
  },
): Promise<void> {
  let acknowledgements = 0;
  const receiverState = { gone: false };
  receiver.child.once("exit", () => {
    receiverState.gone = true;
  });
  const client = async (): Promise<void> => {
    while (!receiverState.gone) {
      const body = newBody("call.completed", options.type === undefined ? {} : { type: options.type });
      ledger.sent.add(idOf(body));
      const sends = Math.random() < 0.2 ? 2 : 1;
      for (let send = 0; send < sends; send += 1) {
        const answer = await post(receiver.url, body).catch(() => undefined);
        if (answer?.status !== 200) continue;
        ledger.acknowledged.set(idOf(body), options.where);
        acknowledgements += 1;
        if (acknowledgements === options.killAfter?.acknowledgements) void receiver.kill();
      }
    }
  };
  const clients = Array.from({ length: CONNECTIONS }, client);
  if (options.killAfter?.handled === true) {
    // A job that killed an earlier process may run again in this one, and kill it before anything is handled.
    await until(() => receiverState.gone || receiver.lines.some((line) => line.includes('"msg":"handled"')));
  }
  if (options.killAfter?.ms !== undefined) await delay(options.killAfter.ms).then(receiver.kill);
  await Promise.all([...clients, receiver.exited]);
  await receiver.kill();
}

export type Verdict = { lost: string[]; twice: string[]; unfinished: number; unknown: string[] };

/** Lets a worker finish the remaining jobs, and counts. */
export async function judge(databaseFile: string, ledger: Ledger): Promise<Verdict> {
  const clock = movableClock();
  const store = await openSqliteStore({ file: databaseFile, clock, isWorker: true, onFatal: console.error });
  const worker = await startWorker({
    store,
    clock,
    random: () => 1,
    clean: (text: string) => text,
    handlers: countingHandlers({ end: () => undefined }),
    config: { ...testConfig(), handlerTimeoutMs: 10_000 },
    log: createLog({ level: "silent" }),
    onEnded: () => undefined,
    onStuck: () => undefined,
  });
  // A job that killed its process waits for its backoff.
  clock.move(3_600_000);
  worker.wake();
  const { handlers } = await until(
    () => store.ledger.counts(),
    (counts) => counts.handlers.every(({ waiting, running }) => waiting + running === 0),
  );
  await worker.drain(1_000);
  await store.close();

  const effects = effectsOf(databaseFile);
  return {
    lost: [...ledger.acknowledged].filter(([id]) => !effects.has(id)).map(([id, where]) => `${id} ${where}`),
    twice: [...effects].filter(([, count]) => count > 1).map(([id]) => id),
    unknown: [...effects.keys()].filter((id) => !ledger.sent.has(id)),
    unfinished: handlers.reduce((sum, { dead }) => sum + dead, 0),
  };
}

function effectsOf(databaseFile: string): Map<string, number> {
  const db = new Database(databaseFile, { readonly: true });
  const rows = db
    .prepare<[], { id: string; effects: number }>(
      "SELECT event_id AS id, count(*) AS effects FROM effects GROUP BY 1",
    )
    .all();
  db.close();
  return new Map(rows.map(({ id, effects }) => [id, effects]));
}
