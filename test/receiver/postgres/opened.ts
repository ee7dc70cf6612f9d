import { onTestFinished } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Claim, Engine, Handled, JobHandler, Outcome, Processor } from "../../../receiver/engine.ts";
import { openPostgresEngine } from "../../../receiver/engines/postgres/index.ts";
import { handler } from "../engine-suite/harness.ts";

type Options = Partial<Parameters<typeof openPostgresEngine>[0]>;

export const EFFECTS = "CREATE TABLE IF NOT EXISTS effects (event_id text, attempt integer)";

/** An engine on `url`, closed when the test is over. */
export async function opened(url: string, options: Options = {}): Promise<Engine> {
  const engine = await openPostgresEngine({
    databaseUrl: url,
    clock: systemClock,
    ...options,
    times: { lookMs: 50, ...options.times },
  });
  onTestFinished(engine.close);
  return engine;
}

/** Drives `handle` with every event that comes, beside a table of effects; keeps what ended and what went wrong. */
export async function driven(
  engine: Engine,
  handle: (claim: Claim) => Promise<Outcome>,
  {
    workerId = "worker",
    concurrency = 4,
    ...policies
  }: Partial<JobHandler> & { workerId?: string; concurrency?: number } = {},
): Promise<{ handled: Handled[]; troubles: unknown[]; processor: Processor }> {
  const handled: Handled[] = [];
  const troubles: unknown[] = [];
  const processor = await engine.work.process({
    handlers: [handler({ migrations: [EFFECTS], maximumAttempts: 10, backoffMs: () => 10, ...policies })],
    handle: async (claim) =>
      handle(claim).catch((error: unknown) => ({ kind: "failed", error: String(error) })),
    workerId,
    concurrency,
    onHandled: (one) => void handled.push(one),
    onTrouble: (error) => void troubles.push(error),
  });
  onTestFinished(async () => processor.drain(0).catch(() => undefined));
  return { handled, troubles, processor };
}
