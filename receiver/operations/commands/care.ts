import { systemClock } from "../../clock.ts";
import { examine, type Finding } from "../doctor.ts";
import { createRestClient } from "../rest-client.ts";
import { EXIT, Refused, type Terminal } from "./terminal.ts";
import { isUnbegun, onEngine, type Context, type InboxContext } from "./with-engine.ts";

/** Copies the database into `directory` while it is in use; refuses where PostgreSQL's own tools do that. */
export async function backup(
  { engine: { ledger }, terminal }: Pick<InboxContext, "engine" | "terminal">,
  directory: string,
): Promise<number> {
  if (!ledger.backup)
    throw new Refused(
      "PostgreSQL has tools of its own for that: pg_basebackup, pg_dump, or those of your provider.",
      EXIT.somethingIsWrong,
    );
  // Also for what SQLite may need beside the copies while it writes them.
  process.umask(0o077);
  for (const file of await ledger.backup(directory)) terminal.print(file);
  return 0;
}

type DoctorOptions = { json?: boolean; verbose?: boolean };

/** `doctor`, which looks at the database where there is one yet: looking makes none. */
export async function doctor(context: Context, options: DoctorOptions): Promise<number> {
  if (isUnbegun(context.config)) return runDoctor(context, options);
  return onEngine(context.config, async (engine) => runDoctor({ ...context, engine }, options));
}

/** Runs every check: short when all is well, one line for each thing that isn't. */
export async function runDoctor(
  { config, engine, terminal }: Context & Partial<InboxContext>,
  options: DoctorOptions,
): Promise<number> {
  const api = config.api && createRestClient({ ...config.api, clock: systemClock, random: Math.random });
  const findings = await examine({ config, engine, api, environment: process.env });
  await api?.close();
  if (options.json === true) terminal.value({ findings });
  else describe(findings, options.verbose === true, terminal);
  return findings.some(({ level }) => level === "problem") ? 1 : 0;
}

function describe(findings: readonly Finding[], verbose: boolean, terminal: Terminal): void {
  for (const { check, level, message } of findings) {
    if (verbose || level !== "ok") terminal.print(`${level.padEnd(7)}  ${check.padEnd(8)}  ${message}`);
  }
  const good = findings.filter(({ level }) => level === "ok").length;
  if (good === findings.length) terminal.print(`All ${String(good)} checks are well.`);
}

/**
 * Begins a new work file where the old one is lost, once somebody has said what to think of the events in the inbox; and
 * goes on with what is left where the inbox has lost its newest events. Where nothing is lost it changes nothing.
 */
export async function recover(
  { config, terminal }: Context,
  options: { handleAgain?: boolean; considerHandled?: boolean },
): Promise<number> {
  if ((options.handleAgain === true) === (options.considerHandled === true))
    throw new Refused(
      "say what to think of the stored events: --handle-again handles all of them once more, --consider-handled none.",
      EXIT.usage,
    );
  const whenLost = options.handleAgain === true ? "handle-again" : "consider-handled";
  const { byState } = await onEngine(config, async ({ ledger }) => ledger.counts(), { whenLost });
  terminal.print(`${String(byState.pending)} events are pending, ${String(byState.done)} done.`);
  return EXIT.ok;
}
