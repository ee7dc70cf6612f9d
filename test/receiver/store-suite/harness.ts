import { expect, onTestFinished } from "vitest";
import type {
  Ending,
  HandlerDatabase,
  InboxJob,
  Job,
  JobHandler,
  NewEvent,
  Store,
} from "../../../receiver/store/port.ts";
import { newEventId } from "../helpers/events.ts";

/** One database for one test, which any number of processes may open at the same time. */
export type Backend = {
  /** Opens it as a separate process would. */
  open: () => Promise<Store>;
  /** Lets time pass, for all processes that have it open. */
  pass: (ms: number) => Promise<void>;
  /** Kills the worker's process that has this store open. */
  kill: (store: Store) => Promise<void>;
  /** Rows of a handler's table, read without the store. */
  rows: (sql: string) => Promise<Record<string, unknown>[]>;
  /**
   * The outcomes that differ:
   *
   * | | SQLite | PostgreSQL |
   * |---|---|---|
   * | `atomically` | ends within one turn of the event loop | is a transaction of 5 s at the most |
   * | workers | one, others stand by | any number |
   * | a worker that died | its jobs are due again when another begins | when its heartbeats are 25 s old |
   * | a handler that is gone | its jobs are ignored at the next begin | ten minutes after its last worker was seen |
   * | a handler that is new | also gets what came while no worker was at work | gets what comes once it is announced |
   * | claimed first | what has been due for longest | what arrived first |
   * | a job that is requeued and done again | was handled twice | was handled once |
   * | a requeued job, if a later one of its key waits for its retry | goes before it | goes after it |
   */
  isSqlite: boolean;
};

export type CreateBackend = () => Promise<Backend>;

export const MINUTE_MS = 60_000;

export const EFFECTS = {
  sqlite: "CREATE TABLE IF NOT EXISTS effects (event_id TEXT, attempt INTEGER)",
  postgres: "CREATE TABLE IF NOT EXISTS effects (event_id text, attempt bigint)",
};

/** A handler of every type, except where `overrides` says otherwise. */
export function handler(overrides: Partial<JobHandler> = {}): JobHandler {
  return {
    name: "everything",
    types: "*",
    key: [],
    migrations: [EFFECTS],
    maximumAttempts: 3,
    backoffMs: () => MINUTE_MS,
    ...overrides,
  };
}

/** An event as the intake passes it to the store. */
export function event(overrides: Partial<NewEvent> & { object?: object } = {}): NewEvent {
  const { object = {}, ...given } = overrides;
  const id = given.id ?? newEventId();
  const type = given.type ?? "call.completed";
  const envelope = given.envelope ?? { id, type, data: { object } };
  return {
    id,
    type,
    objectId: null,
    source: "webhook",
    body: Buffer.from(JSON.stringify(envelope)),
    envelope,
    ...given,
  };
}

export async function openStore(backend: Backend): Promise<Store> {
  const store = await backend.open();
  onTestFinished(async () => store.close().catch(() => undefined));
  return store;
}

/** A store whose process is the worker of these handlers. */
export async function openWorker(
  backend: Backend,
  handlers: readonly JobHandler[] = [handler()],
): Promise<Store> {
  const store = await openStore(backend);
  await store.jobs.begin(handlers, AbortSignal.timeout(60_000));
  return store;
}

/** A database, and the worker of these handlers on it. */
export async function begin(createBackend: CreateBackend, handlers?: readonly JobHandler[]) {
  const backend = await createBackend();
  return { backend, store: await openWorker(backend, handlers) };
}

/** Runs `work` in the transaction that also makes the job done. */
export async function atomically<Result>(
  store: Store,
  job: Job,
  work: (db: HandlerDatabase) => Promise<Result>,
): Promise<Result> {
  return store.jobs.atomically(job, work, never);
}

/** Stores an event and claims its job. */
export async function acceptAndClaim(store: Store): Promise<Job> {
  await accept(store, event());
  return claimOne(store);
}

/**
 * Another worker, with other handlers, after this one has ended. Handlers that it does not have count as removed: on
 * SQLite at once; on PostgreSQL ten minutes after their last worker was seen, so that a rolling deploy removes none.
 */
export async function replaceWorker(
  backend: Backend,
  store: Store,
  handlers: readonly JobHandler[],
): Promise<Store> {
  await store.close();
  if (!backend.isSqlite) await backend.pass(11 * MINUTE_MS);
  return openWorker(backend, handlers);
}

/** Stores the events and returns their ids; fails if that was refused. */
export async function accept(store: Store, ...events: readonly NewEvent[]): Promise<string[]> {
  const result = await store.intake.accept(events);
  expect(result).toMatchObject({ ok: true });
  return events.map(({ id }) => id);
}

/** Claims the due jobs of a handler. */
export async function claim(store: Store, name = "everything", limit = 100): Promise<Job[]> {
  return store.jobs.claim(name, limit);
}

export async function claimOne(store: Store, name = "everything"): Promise<Job> {
  const [job] = await claim(store, name, 1);
  if (!job) throw new Error(`No job of ${name} is due.`);
  return job;
}

/** Claims and ends every job that is due; returns the ids of their events in order. */
export async function handleAll(
  store: Store,
  name = "everything",
  ending: Ending = { kind: "done" },
): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const jobs = await claim(store, name);
    if (jobs.length === 0) return ids;
    for (const job of jobs) await store.jobs.end(job, ending);
    ids.push(...jobs.map(({ id }) => id));
  }
}

/** Ends the next job that is due as dead. */
export async function endAsDead(store: Store, name?: string): Promise<void> {
  await store.jobs.end(await claimOne(store, name), { kind: "dead", error: "no" });
}

export const idsOf = (found: readonly { id: string }[]): string[] => found.map(({ id }) => id);

export async function jobOf(store: Store, id: string, name = "everything"): Promise<InboxJob | undefined> {
  const found = await store.ledger.find(id);
  return found?.jobs.find((job) => job.handler === name);
}

/** Writes the effect of an attempt: tests count these to see how often a job was done. */
export async function writeEffect(db: HandlerDatabase, { id, attempt }: Job): Promise<void> {
  await db.query("INSERT INTO effects (event_id, attempt) VALUES ($1, $2)", [id, attempt]);
}

export async function effects(backend: Backend): Promise<string[]> {
  const rows = await backend.rows("SELECT event_id FROM effects ORDER BY event_id");
  return rows.map((row) => String(row["event_id"]));
}

export const never = new AbortController().signal;
