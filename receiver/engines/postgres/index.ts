import type { ClientBase } from "pg";
import type { Clock } from "../../clock.ts";
import type { Engine, HandlerMigrations, RetryPolicy } from "../../engine.ts";
import { createClaims } from "./claims.ts";
import { createPool, findSessions, type Pool, type Sessions } from "./connection.ts";
import { createIntake } from "./intake.ts";
import { createLedger } from "./ledger.ts";
import { loadPackages } from "./packages.ts";
import { createProcessor } from "./processor.ts";
import { migrate } from "./schema.ts";
import { createSpoken } from "./spoken.ts";
import { milliseconds } from "./text.ts";
import { startTrigger } from "./trigger.ts";

/** Connections at the most, by what they are for. None is opened before it is needed. */
const CONNECTIONS = { intake: 4, claims: 3, handlers: 20, jobs: 3, operators: 3 };

const TIMES = {
  /** How often workers look for retries that have become due, and for claims of the dead. */
  lookMs: 1_000,
  connectTimeoutMs: 5_000,
  /** Waiting longer helps nobody: the answer is due 8 s after the event came. */
  acceptTimeoutMs: 7_500,
};

/** What stands between closing and an exit: a connection that doesn't come back. */
const CLOSE_TIMEOUT_MS = 2_000;

const FIND_NOW = `SELECT ${milliseconds("clock_timestamp()")} AS now`;

/**
 * The engine for more than one machine: any number of processes share one PostgreSQL, and graphile-worker's jobs tell
 * them when there is something to do. Fails when the server can't be reached or its tables can't be made.
 */
export async function openPostgresEngine(options: {
  url: string;
  clock: Clock;
  retry: RetryPolicy;
  migrations?: HandlerMigrations;
  /** Other times than the usual, for tests. */
  times?: Partial<typeof TIMES>;
}): Promise<Engine> {
  const { url, clock, retry } = options;
  const { lookMs, connectTimeoutMs, acceptTimeoutMs } = { ...TIMES, ...options.times };
  const packages = await loadPackages();
  const pools: Pool[] = [];
  const pool = (
    purpose: keyof typeof CONNECTIONS,
    how: { answerTimeoutMs?: number; greet?: (client: ClientBase) => Promise<void> } = {},
  ): Pool => {
    const created = createPool(packages, {
      url,
      purpose,
      connections: CONNECTIONS[purpose],
      connectTimeoutMs,
      ...how,
    });
    pools.push(created);
    return created;
  };
  const close = async (): Promise<void> => {
    const timeout = new AbortController();
    const ended = Promise.all(pools.map(async (one) => (one.ending ? undefined : one.end())));
    await Promise.race([ended, clock.sleep(CLOSE_TIMEOUT_MS, timeout.signal)]);
    timeout.abort();
  };

  const operators = pool("operators");
  let sessions: Sessions;
  try {
    sessions = await findSessions(operators);
    await migrate(operators, packages, options.migrations ?? []);
  } catch (error) {
    await close();
    throw error;
  }
  const { prepare } = sessions;
  const claims = createClaims(pool("claims"), prepare, retry);
  const spoken = createSpoken(packages, sessions);
  const handlers = pool("handlers", { greet: spoken.greet });
  const jobs = pool("jobs");

  return {
    intake: createIntake(pool("intake", { answerTimeoutMs: acceptTimeoutMs }), prepare),
    work: {
      process: (processing) =>
        createProcessor(
          {
            claims,
            clock,
            retry,
            lookMs,
            pool: handlers,
            spoken,
            startTrigger: async (wake, onTrouble) => startTrigger(jobs, packages, { wake, onTrouble }),
          },
          processing,
        ),
      release: claims.release,
    },
    ledger: createLedger(operators),
    nowMs: async () => (await operators.query<{ now: number }>(FIND_NOW)).rows[0]?.now ?? Number.NaN,
    close,
  };
}
