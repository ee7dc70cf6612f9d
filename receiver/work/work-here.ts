import { systemClock, type Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { openEngine } from "../engines/open.ts";
import { createHandlingMetrics, type HandlingReport } from "../operations/handling-metrics.ts";
import type { Log } from "../operations/log.ts";
import type { Handler } from "./handler.ts";
import { createWorkerId } from "./handlers-process.ts";
import type { Supervisor } from "./supervisor.ts";
import { startWorking } from "./working.ts";

const REPORT_MS = 1_000;

/**
 * Handles jobs in this process, for an app that gives its handlers as an array. A handler that blocks, crashes or fills
 * the memory takes the app with it, and nothing replaces one that ignores its deadline.
 */
export async function workHere(options: {
  handlers: readonly Handler[];
  config: Config;
  clock: Clock;
  log: Log;
  onReport: (report: HandlingReport) => void;
}): Promise<Pick<Supervisor, "alive" | "wake" | "stop">> {
  const { clock, log } = options;
  const metrics = createHandlingMetrics();
  const working = await startWorking({
    ...options,
    engine: await openEngine({ ...options.config, clock: systemClock }),
    services: undefined,
    workerId: createWorkerId(),
    predecessors: [],
    onHandled: metrics.handled,
    onStuck: ({ handler, id }) =>
      log.error(
        { handler, event_id: id },
        "a handler goes on past its deadline and ignores its signal; only the end of this process would end it",
      ),
  });
  let cancel = clock.after(REPORT_MS, report);

  return {
    alive: () => true,
    wake: working.loop.wake,
    stop: async (graceMs) => {
      cancel();
      await working.stop(graceMs);
    },
  };

  function report(): void {
    void metrics.news().then((news) => news && options.onReport(news));
    cancel = clock.after(REPORT_MS, report);
  }
}
