import { onTestFinished } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Claim, Engine, Handled, Outcome, Processor } from "../../../receiver/engine.ts";
import { openPostgresEngine } from "../../../receiver/engines/postgres/index.ts";

type Options = Partial<Parameters<typeof openPostgresEngine>[0]>;

export const EFFECTS = [
  { handler: "effects", migrations: ["CREATE TABLE effects (event_id text, attempt integer)"] },
];

/** An engine on `url` with a table of effects, closed when the test is over. */
export async function opened(url: string, options: Options = {}): Promise<Engine> {
  const engine = await openPostgresEngine({
    url,
    clock: systemClock,
    retry: { maximumAttempts: 10, backoffMs: () => 10 },
    migrations: EFFECTS,
    ...options,
    times: { lookMs: 50, ...options.times },
  });
  onTestFinished(engine.close);
  return engine;
}

/** Drives `handle`, and keeps what ended and what went wrong. */
export function driven(
  engine: Engine,
  handle: (claim: Claim) => Promise<Outcome>,
  { workerId = "worker", concurrency = 4 }: { workerId?: string; concurrency?: number } = {},
): { handled: Handled[]; troubles: unknown[]; processor: Processor } {
  const handled: Handled[] = [];
  const troubles: unknown[] = [];
  const processor = engine.work.process({
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
