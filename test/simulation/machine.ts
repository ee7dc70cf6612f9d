import { AsyncLocalStorage } from "node:async_hooks";
import { statSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import Database from "better-sqlite3";
import type { Disk } from "./disk.ts";
import type { ProcessClock } from "./timeline.ts";

/** Thrown by every statement of a killed process: it can no longer write to a file. */
class Killed extends Error {
  override readonly name = "Killed";
}

/** A process of the simulated machine: its time, its disk, and how it dies. */
export type Process = ReturnType<typeof createProcess>;

const context = new AsyncLocalStorage<Process>();
/** The process that opened a database; null for databases of the simulation itself. */
const owners = new WeakMap<Database.Database, Process | null>();

/** Code inside `run` belongs to the process: the simulated machine executes its statements and syncs. */
export function createProcess(name: string, clock: ProcessClock, disk: Disk) {
  const opened = new Set<Database.Database>();
  let statementsLeft = Number.POSITIVE_INFINITY;
  let isDead = false;

  const self = {
    name,
    clock,
    isDead: () => isDead,
    run: <Result>(work: () => Result): Result => context.run(self, work),
    /** Kills it between two of its next statements. */
    killAfter: (statements: number) => {
      statementsLeft = statements;
      if (statements === 0) self.kill();
    },
    kill: () => {
      isDead = true;
      clock.kill();
    },
    /** Closes the files of a dead process, as the system does. */
    close: () => {
      for (const db of opened) db.close();
      opened.clear();
    },
    own: (db: Database.Database) => void opened.add(db),
    beforeStatement: (sql: string) => {
      // The open transaction of a dead process is rolled back.
      if (/^\s*ROLLBACK/i.test(sql)) return;
      if (!isDead && (statementsLeft -= 1) < 0) self.kill();
      if (isDead) throw new Killed();
    },
    openFile: (path: string) => {
      const sync = path.endsWith("-wal") ? () => disk.sync(clock.clock) : async () => undefined;
      return { sync, datasync: sync, stat: async () => statSync(path), close: async () => undefined };
    },
  };
  return self;
}

/** Puts the simulated machine under better-sqlite3 and node:fs. Other databases and files are left alone. */
export function simulateMachine(): () => void {
  const statements = Object.getPrototypeOf(new Database(":memory:").prepare("SELECT 1")) as object;
  const restore = [
    ...["run", "get", "all"].map((name) =>
      patched(
        statements,
        name,
        (original) =>
          function (this: Database.Statement, ...given: unknown[]) {
            ownerOf(this.database)?.beforeStatement(this.source);
            return original.apply(this, given);
          },
      ),
    ),
    ...["exec", "pragma", "prepare"].map((name) =>
      patched(
        Database.prototype,
        name,
        (original) =>
          function (this: Database.Database, ...given: unknown[]) {
            ownerOf(this)?.beforeStatement(String(given[0]));
            return original.apply(this, given);
          },
      ),
    ),
    patched(
      fs,
      "open",
      (original) =>
        async (...given: unknown[]) =>
          context.getStore()?.openFile(String(given[0])) ?? original.apply(fs, given),
    ),
    patched(
      fs,
      "stat",
      (original) =>
        async (...given: unknown[]) =>
          context.getStore() ? statSync(String(given[0])) : original.apply(fs, given),
    ),
  ];
  syncBuiltinESMExports();
  return () => {
    for (const undo of restore) undo();
    syncBuiltinESMExports();
  };
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

function patched(target: object, name: string, make: (original: Method) => unknown): () => void {
  const original = Reflect.get(target, name) as Method;
  Reflect.set(target, name, make(original));
  return () => void Reflect.set(target, name, original);
}

function ownerOf(db: Database.Database): Process | null {
  const known = owners.get(db);
  if (known !== undefined) return known;
  const process = context.getStore() ?? null;
  owners.set(db, process);
  process?.own(db);
  return process;
}
