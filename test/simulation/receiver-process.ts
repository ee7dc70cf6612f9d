import type Database from "better-sqlite3";
import pino from "pino";
import { createAccept } from "../../receiver/engines/sqlite/accept.ts";
import { unavailability } from "../../receiver/engines/sqlite/database.ts";
import { beginWork } from "../../receiver/engines/sqlite/index.ts";
import { openInboxFile } from "../../receiver/engines/sqlite/inbox-file.ts";
import { createLedgerVerbs } from "../../receiver/engines/sqlite/ledger-verbs.ts";
import { createRetention } from "../../receiver/engines/sqlite/retention.ts";
import { createTransactions } from "../../receiver/engines/sqlite/transactions.ts";
import { openWorkFile, workFileOf } from "../../receiver/engines/sqlite/work-file.ts";
import { createGroupCommit } from "../../receiver/intake/group-commit.ts";
import { createInbox, type Delivery, type Receipt } from "../../receiver/intake/inbox.ts";
import type { Acceptance, AcceptResult, Engine, Handled, Intake, Processor } from "../../receiver/engine.ts";
import { reconcile, type ReconcileReport } from "../../receiver/operations/reconcile.ts";
import type { RestClient } from "../../receiver/operations/rest-client.ts";
import type { Handler } from "../../receiver/work/handler.ts";
import { startLoop } from "../../receiver/work/loop.ts";
import { crashing, Killed } from "./crashing-database.ts";
import type { Disk } from "./disk.ts";
import type { ProcessClock, Timeline } from "./timeline.ts";

const HOUR_MS = 3_600_000;
const HANDLER_TIMEOUT_MS = 5_000;
const SLOTS = 3;

/** Pruned after this, so that it often comes into a simulation of some hours. */
const ID_RETENTION_MS = HOUR_MS;

/** How long a disk takes for a commit. */
const SLOWEST_COMMIT_MS = 40;

export type ReceiverProcess = Awaited<ReturnType<typeof startProcess>>;

/**
 * One process of the receiver, on connections of its own: it takes deliveries as the intake does, drives handlers as the
 * worker does when it is given some, and answers operators. Every part is the receiver's own but the threads between
 * them. It can be killed between any two statements.
 */
export function startProcess(options: {
  name: string;
  timeline: Timeline;
  disk: Disk;
  secrets: readonly string[];
  random: () => number;
  maximumAttempts: number;
  /** Without any it drives none, and registers none of their tables. */
  handlers: readonly Handler[] | undefined;
  /** Workers that are known to be gone. */
  predecessors: readonly string[];
  onHandled: (handled: Handled) => void;
}) {
  const { name, timeline, disk } = options;
  const processClock: ProcessClock = timeline.process();
  const { clock } = processClock;
  const file = disk.file();
  let statementsLeft = Number.POSITIVE_INFINITY;
  let dead = false;
  let arriving = 0;
  const gate = (): void => {
    statementsLeft -= 1;
    if (statementsLeft < 0 && !dead) die();
    if (dead) throw new Killed(name);
  };

  const opened: Database.Database[] = [];
  /** Connections to both files, as each thread of the receiver has its own. */
  function open(): { inbox: Database.Database; db: Database.Database } {
    const inbox = openInboxFile({ file, busyTimeoutMs: 0 });
    const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: 0 });
    // Only the simulation says when the log becomes the file, since it has to know what a power cut takes back.
    db.pragma("wal_autocheckpoint = 0");
    inbox.pragma("wal_autocheckpoint = 0");
    disk.observe(inbox);
    opened.push(inbox, db);
    return { inbox: crashing(inbox, gate), db: crashing(db, gate) };
  }

  const taking = open();
  const operating = open();
  const accept = acceptOf(createAccept(taking.inbox));
  const store = createGroupCommit({ accept, clock });
  const inbox = createInbox({ secrets: options.secrets, clock, store });
  const engine = {
    intake: { accept, probe: async () => accept([]) },
    ledger: createLedgerVerbs({ ...operating, clock }),
  };
  const retention = createRetention({
    ...operating,
    write: createTransactions(operating.db, clock).run,
    pause: async () => clock.sleep(10),
    sync: () => {
      gate();
      disk.sync();
    },
  });
  const processor = options.handlers && drive(options.handlers);
  processor?.catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error;
  });

  function acceptOf(acceptNow: (batch: Parameters<Intake["accept"]>[0], nowMs: number) => Acceptance[]) {
    return async (batch: Parameters<Intake["accept"]>[0]): Promise<AcceptResult> => {
      // As the writer does, before its thread has begun.
      const nowMs = clock.nowMs();
      await new Promise<void>((resolve) => {
        clock.after(Math.floor(options.random() * SLOWEST_COMMIT_MS), resolve);
      });
      try {
        return { ok: true, acceptances: acceptNow(batch, nowMs) };
      } catch (error) {
        const reason = unavailability(error);
        if (reason === undefined) throw error;
        return { ok: false, reason, detail: String(error) };
      }
    };
  }

  /** Starts the background loop, as soon as the locks of others let it. */
  async function drive(handlers: readonly Handler[]): Promise<Processor> {
    const { inbox: inboxFile, db } = open();
    const work: Engine["work"] = {
      process: async (processing) => beginWork({ db, inbox: inboxFile, clock }, processing),
    };
    for (;;) {
      try {
        return await startLoop({
          engine: { ...engine, work, nowMs: async () => clock.nowMs(), close: async () => undefined },
          handlers,
          defaults: {
            maximumAttempts: options.maximumAttempts,
            handlerTimeoutMs: HANDLER_TIMEOUT_MS,
            workerConcurrency: SLOTS,
            maximumAgeMs: 72 * HOUR_MS,
          },
          clock,
          random: options.random,
          log: pino({ level: "silent" }),
          workerId: name,
          predecessors: options.predecessors,
          onHandled: (handled) => {
            if (!dead) options.onHandled(handled);
          },
          // As the handlers' process does: it gives back what it has, and another one takes its place.
          onStuck: (job) => {
            processor
              ?.then(async (loop) => loop.drain(0, [job]))
              .catch(() => undefined)
              .finally(die);
          },
        });
      } catch (error) {
        if (unavailability(error) === undefined) throw error;
        await clock.sleep(500);
      }
    }
  }

  function die(): void {
    dead = true;
    processClock.kill();
  }

  return {
    name,
    clock: processClock,
    engine,
    isDead: (): boolean => dead,
    /** Whether something was checked and is not stored yet. */
    isStoring: (): boolean => !dead && arriving > 0,
    /** Undefined when the process is dead before it answers. */
    deliver: async (delivery: Delivery): Promise<Receipt | undefined> => {
      if (dead) return undefined;
      arriving += 1;
      const receipt = await inbox(delivery)
        .catch((error: unknown) => {
          if (error instanceof Killed) return undefined;
          throw error;
        })
        .finally(() => (arriving -= 1));
      return dead ? undefined : receipt;
    },
    prune: async (bodiesMs: number): Promise<void> => {
      const nowMs = clock.nowMs();
      await retention.pruneBodies(nowMs - bodiesMs);
      await retention.pruneIds(nowMs - ID_RETENTION_MS);
    },
    /** Kills it before its n-th statement from now on; at once for 0. */
    killAfter: (statements: number): void => {
      statementsLeft = statements;
      if (statements === 0) die();
    },
    /** What the command of the same name does, with a REST API of the simulation's. */
    reconcile: async (asked: {
      api: RestClient;
      sinceMs: number;
      dryRun: boolean;
    }): Promise<ReconcileReport> =>
      reconcile({ ...asked, engine, clock, maxBodyBytes: 1_048_576, onProgress: () => undefined }),
    /** Ends it in order: handlers finish or return their events. */
    drain: async (): Promise<void> => {
      await (await processor)?.drain(2_000).finally(die);
    },
    /** Of a dead process: what its system does with its files. */
    close: (): void => {
      for (const db of opened) db.close();
    },
  };
}
