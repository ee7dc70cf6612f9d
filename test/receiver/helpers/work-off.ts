import type { Engine, ProcessOptions } from "../../../receiver/engine.ts";
import { until } from "./until.ts";

/** Has a worker of these handlers work until nothing waits any more, and end; answers how many events are in each state. */
export async function workOff(
  engine: Engine,
  { handlers, handle }: Pick<ProcessOptions, "handlers" | "handle">,
): Promise<Awaited<ReturnType<Engine["ledger"]["counts"]>>["byState"]> {
  const processor = await engine.work.process({
    handlers,
    handle,
    workerId: "worker",
    concurrency: 1,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  const { byState } = await until(
    () => engine.ledger.counts(),
    (counts) => counts.byState.pending + counts.byState.claimed === 0,
  );
  await processor.drain(0);
  return byState;
}
