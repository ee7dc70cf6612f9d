import { hash } from "node:crypto";
import { within } from "../../clock.ts";
import type { Engine } from "../../engine.ts";
import { createBoss } from "./boss.ts";
import type { EngineOptions } from "../open.ts";
import { createClaims } from "./claims.ts";
import {
  adviceOn,
  createDatabase,
  createPool,
  preparing,
  type Pool,
  type Database,
  type PoolOptions,
  type Prepare,
} from "./connection.ts";
import { channelOf, createIntake } from "./intake.ts";
import { createJobs } from "./jobs.ts";
import { createLedger } from "./ledger.ts";
import { migrate, migrateHandlers } from "./migrations.ts";
import { createOffers } from "./offers.ts";
import { createProcessor } from "./processor.ts";
import { unixMs } from "./text.ts";

const TIMES = {
  /** How often workers look for retries that have become due, and for claims of vanished workers. */
  lookMs: 1_000,
  connectTimeoutMs: 5_000,
  /** Waiting longer helps nobody: the answer is due 8 s after the event came. */
  acceptTimeoutMs: 7_500,
  /** Longer than the server lets a statement run: then the line is silent, as when its machine is gone. */
  answerTimeoutMs: 35_000,
};

/** How long closing waits for a connection on which something is still going on. */
const CLOSE_TIMEOUT_MS = 2_000;

/** The row stays locked until it is known whether they are the same. */
const MARK_OWNERS = `
  UPDATE receiver.facts SET owners = $1 WHERE owners = '{}' OR owners && $1::text[] RETURNING 1`;
const FIND_OWNERS = `SELECT 1 FROM receiver.facts WHERE owners = $1`;

const FIND_NOW = `SELECT ${unixMs("clock_timestamp()")} AS now`;

/**
 * The engine for more than one machine: any number of processes share one PostgreSQL, and pg-boss owns their jobs. Fails
 * when the server can't be reached or its tables can't be made.
 */
export async function openPostgresEngine(
  options: EngineOptions & {
    databaseUrl: string;
    /** Other times than the usual, for tests. */
    times?: Partial<typeof TIMES>;
  },
): Promise<Engine> {
  const {
    databaseUrl: url,
    databaseSchema: schema = "receiver",
    postgresBackend: backend = "postgres",
    clock,
  } = options;
  const { lookMs, connectTimeoutMs, acceptTimeoutMs, answerTimeoutMs } = { ...TIMES, ...options.times };
  const poolFor = (purpose: string, connections: number, how: Partial<PoolOptions> = {}): Pool =>
    createPool({ url, schema, purpose, connections, connectTimeoutMs, ...how });
  /** Each with the number of connections it may open at most. None is opened before it is needed. */
  const pools = {
    intake: poolFor("intake", 4, { answerTimeoutMs: acceptTimeoutMs }),
    /** One of them listens for notifications. */
    jobs: poolFor("jobs", 4, { pipeline: true, answerTimeoutMs }),
    handlers: poolFor("handlers", 20, { pipeline: true, answerTimeoutMs }),
    operators: poolFor("operators", 3),
  };
  const close = async (): Promise<void> => {
    const ended = Promise.all(Object.values(pools).map(async (one) => (one.ending ? undefined : one.end())));
    await within(CLOSE_TIMEOUT_MS, ended, clock);
  };
  const place = { pool: pools.operators, schema, backend };
  const boss = createBoss(place);
  let prepare: Prepare;
  try {
    prepare = await preparing(place.pool, schema);
    await migrate(place, boss);
    await refuseStrangers(createDatabase(place.pool, prepare), options.signingSecrets ?? []);
  } catch (error) {
    await close();
    if (!(error instanceof Error)) throw error;
    throw new Error(`${error.message}${adviceOn(error)}`, { cause: error });
  }
  const channel = backend === "cockroachdb" ? null : channelOf(schema);
  const database = createDatabase(pools.jobs, prepare);
  const jobs = { ...createJobs(database), ...createClaims(database, boss), ...createOffers(database, boss) };

  return {
    intake: createIntake(pools.intake, prepare, channel),
    work: {
      process: async (processing) => {
        const { workerId, handlers } = processing;
        await migrateHandlers(place, handlers);
        await jobs.keep(workerId, handlers);
        await jobs.announce(workerId, handlers);
        const means = { pool: pools.handlers, listening: pools.jobs, channel, prepare, schema, clock };
        return createProcessor({ ...means, jobs, lookMs }, processing);
      },
    },
    ledger: createLedger(createDatabase(place.pool, prepare), boss, channel),
    nowMs: async () => (await place.pool.query<{ now: number }>(FIND_NOW)).rows[0]?.now ?? Number.NaN,
    close,
  };
}

/**
 * Remembers whose inbox this is, by the secrets that its events were signed with, and refuses a receiver that has none of
 * them: another environment, whose handlers would handle these events. A receiver without secrets is not checked.
 */
async function refuseStrangers({ run }: Database, secrets: readonly string[]): Promise<void> {
  if (secrets.length === 0) return;
  const owners = secrets
    .map((secret) => hash("sha256", `owner of an inbox: ${secret}`).slice(0, 16))
    .toSorted();
  if ((await run(FIND_OWNERS, [owners])).length > 0) return;
  if ((await run(MARK_OWNERS, [owners])).length > 0) return;
  throw new Error(
    "This inbox belongs to a receiver with other signing secrets. Set DATABASE_SCHEMA to a name of this one's own, such as receiver_staging; or, if the secret was replaced, keep the old one beside it in SIGNING_SECRET until every process has both.",
  );
}
