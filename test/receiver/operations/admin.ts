import { createServer } from "node:http";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { createAdminApp } from "../../../receiver/operations/admin.ts";
import { createHealth } from "../../../receiver/operations/health.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { createMetrics } from "../../../receiver/operations/metrics.ts";
import { createOperatorPage } from "../../../receiver/operations/page/index.ts";
import type { Ledger, Store } from "../../../receiver/store/port.ts";
import type { Status } from "../../../receiver/work/supervisor.ts";
import { onTestFinished } from "vitest";
import { listen } from "../../helpers/listen.ts";

export type AdminOptions = {
  ledger?: Partial<Ledger>;
  clock?: Clock;
  adminAllowedHosts?: string[] | undefined;
  adminToken?: string;
  workerStatus?: () => Status;
};

/** The dependencies of the operator's side, around a store. */
export function operatorParts(
  store: Store,
  { ledger, clock = systemClock, workerStatus }: AdminOptions = {},
) {
  const lines: string[] = [];
  const health = createHealth({
    probe: store.intake.probe,
    clock,
    freeBytes: async () => undefined,
    minimumFreeBytes: 0,
    role: "all",
    workerStatus,
  });
  onTestFinished(health.stop);
  return {
    ledger: { ...store.ledger, ...ledger },
    health,
    metrics: createMetrics({ counts: store.ledger.counts, clock }),
    log: createLog({ level: "info", destination: { write: (line) => void lines.push(line) } }),
    clock,
    workerStatus,
    lines,
  };
}

/** The admin app on a free port. */
export async function serveAdmin(store: Store, options: AdminOptions = {}) {
  const parts = operatorParts(store, options);
  const app = createAdminApp({
    ...parts,
    page: createOperatorPage(parts),
    adminAllowedHosts: "adminAllowedHosts" in options ? options.adminAllowedHosts : ["127.0.0.1"],
    adminToken: options.adminToken,
  });
  return { ...parts, ...(await listen(createServer(app))) };
}
