import { systemClock } from "../../clock.ts";
import { inSnakeCase } from "../present.ts";
import { reconcile, type ReconcileReport } from "../reconcile.ts";
import { createRestClient } from "../rest-client.ts";
import { momentAgo } from "./arguments.ts";
import { interruptible } from "./interrupt.ts";
import { EXIT, Refused, type Terminal } from "./terminal.ts";
import type { InboxContext } from "./with-engine.ts";

/** Runs `reconcile` and prints its report. Answers 0 only when it looked at everything. */
export async function runReconcile(
  { config, engine, terminal }: InboxContext,
  options: { since: number; dryRun?: boolean; json?: boolean },
): Promise<number> {
  if (!config.api)
    throw new Refused("reconcile reads the REST API: set API_BASE_URL and API_KEY.", EXIT.usage);
  const api = createRestClient({ ...config.api, clock: systemClock, random: Math.random });
  const tell = (report: ReconcileReport): void => {
    if (options.json === true) terminal.value(inSnakeCase(report));
    else describe(report, terminal);
  };
  let soFar: ReconcileReport | undefined;
  const report = await interruptible(
    () => {
      if (soFar === undefined) terminal.complain("reconcile was interrupted before it had read anything.");
      else tell({ ...soFar, problem: "it was interrupted." });
    },
    async () =>
      reconcile({
        engine,
        api,
        clock: systemClock,
        sinceMs: momentAgo(options.since),
        dryRun: options.dryRun === true,
        maxBodyBytes: config.maxBodyBytes,
        onProgress: (report) => {
          soFar = report;
          terminal.progress(`${String(report.objectsRead)} objects read`);
        },
      }),
  );
  await api.close();
  tell(report);
  return report.finished ? 0 : 1;
}

function describe(report: ReconcileReport, terminal: Terminal): void {
  const verb = report.dryRun ? "Would be healed" : "Healed";
  terminal.print(`${verb}: ${String(report.healed.length)}`);
  for (const { id, type, objectId, createdAt } of report.healed) {
    terminal.print(`  ${type.padEnd(17)}  ${objectId}  ${createdAt}  as ${id}`);
  }
  terminal.print(`Already there: ${String(report.alreadyThere)}`);
  if (report.prunedBefore !== null) {
    terminal.print(
      `Looked back to ${report.since} only: what arrived before ${report.prunedBefore} may be pruned, so nobody can tell whether it did.`,
    );
  }
  terminal.print("Cannot be healed:");
  for (const { type, reason, whatToDo } of report.cannotBeHealed) {
    terminal.print(`  ${type.padEnd(17)}  ${reason} ${whatToDo}`);
  }
  if (report.problem !== null) {
    terminal.complain(
      `reconcile did not finish: ${report.problem} Run it again: it goes on where it stopped.`,
    );
  }
}
