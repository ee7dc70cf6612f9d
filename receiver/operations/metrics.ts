import type { Counts, Handled } from "../engine.ts";
import type { Receipt } from "../intake/inbox.ts";

export type Metrics = {
  received: (receipt: Receipt, seconds: number) => void;
  /** A request that was refused before it became a delivery. */
  refused: (reason: string) => void;
  /** Attempts that have ended, in whichever process. */
  handled: (attempts: readonly Pick<Handled, "handler" | "type" | "outcome" | "durationMs">[]) => void;
  workerDied: () => void;
  text: () => Promise<{ contentType: string; body: string }>;
};

export type MetricsOptions = {
  counts: () => Promise<Counts>;
  workerAlive?: (() => boolean) | undefined;
};

/**
 * The receiver's metrics. The client of Prometheus is loaded with the first of them or the first scrape, so that no start
 * waits for it; what is counted meanwhile, is counted then.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  let meters: Metrics | undefined;
  let loading: Promise<Metrics> | undefined;

  return {
    received: (receipt, seconds) => count((to) => to.received(receipt, seconds)),
    refused: (reason) => count((to) => to.refused(reason)),
    handled: (attempts) => count((to) => to.handled(attempts)),
    workerDied: () => count((to) => to.workerDied()),
    text: async () => (await load()).text(),
  };

  function count(one: (to: Metrics) => void): void {
    if (meters) one(meters);
    else void load().then(one);
  }

  async function load(): Promise<Metrics> {
    loading ??= import("./meters.ts").then(({ createMeters }) => (meters = createMeters(options)));
    return loading;
  }
}
