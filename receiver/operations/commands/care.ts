import { z } from "zod";
import { localHostInUrl } from "../../../shared/host.ts";
import { systemClock as clock } from "../../clock.ts";
import { examine } from "../doctor.ts";
import { inSnakeCase } from "../present.ts";
import { reconcile, type ReconcileReport } from "../reconcile.ts";
import { createRestClient } from "../rest-client.ts";
import { EXIT, isUnbegun, onStore, Refused, terminal } from "./run.ts";
import type { Context, Outcome, OnStore } from "./run.ts";

const HEALTH_LIMIT_MS = 4_000;
const readinessSchema = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) });

/** `health`, for containers: asks the receiver that runs here with the same settings whether all is well. */
export async function health({ config }: Context): Promise<Outcome> {
  const { role, host, port, adminHost, adminPort } = config;
  const [name, number] = role === "worker" ? [adminHost, adminPort] : [host, port];
  const url = `http://${localHostInUrl(name)}:${String(number)}/readyz`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(HEALTH_LIMIT_MS) })
    .then(async (response) => readinessSchema.parse(await response.json()))
    .catch(() => {
      const problem = `no receiver answers at ${url}. Start it, with the same settings as here.`;
      throw new Refused(problem, EXIT.couldNotRun);
    });
  const lacking = Object.entries(answer.checks).filter(([, check]) => check !== "ok");
  const isWell = answer.status === "ready" && lacking.length === 0;
  const words = lacking.map(([check, found]) => `${check} ${found}`).join(", ");
  const line = answer.status === "ready" ? `takes events, but: ${words}` : `not ready: ${words}`;
  return {
    exitCode: isWell ? EXIT.ok : EXIT.somethingIsWrong,
    json: answer,
    lines: [isWell ? "ready" : line],
  };
}

/** `doctor`, which looks at the database if there is one yet: looking creates none. */
export async function doctor(
  { config }: Context,
  { verbose = false }: { verbose?: boolean },
): Promise<Outcome> {
  const api = config.api && createRestClient(config.api);
  const look = { config, api, clock, environment: process.env };
  const findings = isUnbegun(config)
    ? await examine({ ...look, store: undefined })
    : await onStore(config, async (store) => examine({ ...look, store }));
  await api?.close();
  const wrong = findings.filter(({ level }) => level !== "ok");
  const lines = (verbose ? findings : wrong).map(
    ({ check, level, message }) => `${level.padEnd(7)}  ${check.padEnd(8)}  ${message}`,
  );
  if (wrong.length === 0) lines.push(`All ${String(findings.length)} checks are well.`);
  const exitCode = wrong.some(({ level }) => level === "problem") ? EXIT.somethingIsWrong : EXIT.ok;
  return { exitCode, json: { findings }, lines };
}

/** Copies the database to a new file while it is in use. */
export async function backup({ store: { ledger } }: OnStore, file: string): Promise<Outcome> {
  if (!ledger.backup)
    throw new Refused("PostgreSQL has tools of its own: pg_basebackup, pg_dump, or your provider's.");
  // The copy is private from its first byte.
  process.umask(0o077);
  await ledger.backup(file);
  return { json: { file }, lines: [file] };
}

/** `reconcile`. Exits 0 only if it looked at everything. */
export async function runReconcile(
  { config, store }: OnStore,
  { since, dryRun = false }: { since: number; dryRun?: boolean },
): Promise<Outcome> {
  if (!config.api) throw new Refused("reconcile reads the REST API: set API_BASE_URL and API_KEY.");
  const { maxBodyBytes } = config;
  const api = createRestClient(config.api);
  let soFar: ReconcileReport | undefined;
  // What is stored by then is whole, as after a crash.
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      for (const line of soFar ? linesOf(soFar) : []) terminal.print(line);
      terminal.complain("reconcile was interrupted. Run it again: it goes on where it stopped.");
      process.exit(EXIT.couldNotRun);
    });
  const report = await reconcile({
    store,
    api,
    clock,
    maxBodyBytes,
    dryRun,
    sinceMs: clock.nowMs() - since * 1_000,
    onProgress: (progress) => {
      soFar = progress;
      terminal.progress(`${String(progress.objectsRead)} objects read`);
    },
  });
  terminal.progress("");
  await api.close();
  const note = `reconcile did not finish: ${report.problem ?? ""} Run it again: it goes on where it stopped.`;
  return {
    exitCode: report.finished ? EXIT.ok : EXIT.somethingIsWrong,
    json: inSnakeCase(report),
    lines: linesOf(report),
    notes: report.finished ? [] : [note],
  };
}

function linesOf(report: ReconcileReport): string[] {
  const { dryRun, healed, alreadyThere, prunedBefore, since, cannotBeHealed } = report;
  const pruned = `Looked back to ${since} only: what came before ${prunedBefore ?? ""} may be pruned.`;
  return [
    `${dryRun ? "Would be healed" : "Healed"}: ${String(healed.length)}`,
    ...healed.map(({ id, type, objectId, createdAt }) => `  ${type}  ${objectId}  ${createdAt}  as ${id}`),
    `Already there: ${String(alreadyThere)}`,
    ...(prunedBefore === null ? [] : [pruned]),
    "Cannot be healed:",
    ...cannotBeHealed.map(({ type, reason, whatToDo }) => `  ${type}  ${reason} ${whatToDo}`),
  ];
}
