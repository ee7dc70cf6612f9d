import { systemClock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import type { Engine } from "../../engine.ts";
import { examine, type Finding } from "../doctor.ts";
import { createRestClient } from "../rest-client.ts";
import { EXIT, type Terminal } from "./terminal.ts";
import { onEngine } from "./with-engine.ts";

/** Copies the database into `directory` while it is in use, where that is our affair. */
export async function backup(engine: Engine, directory: string, terminal: Terminal): Promise<number> {
  if (!engine.ledger.backup) {
    terminal.complain(
      "PostgreSQL has tools of its own for that: pg_basebackup, pg_dump, or those of your provider.",
    );
    return 1;
  }
  // Also for what SQLite may need beside the copies while it writes them.
  process.umask(0o077);
  for (const file of await engine.ledger.backup(directory)) terminal.print(file);
  return 0;
}

/** Runs every check of `doctor`, those of the database where there is one yet: short when all is well, one line for each thing that isn't. */
export async function runDoctor(
  config: Config,
  engine: Engine | undefined,
  options: { json?: boolean; verbose?: boolean },
  terminal: Terminal,
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
  config: Config,
  options: { handleAgain?: boolean; considerHandled?: boolean },
  terminal: Terminal,
): Promise<number> {
  if ((options.handleAgain === true) === (options.considerHandled === true)) {
    terminal.complain(
      "say what to think of the stored events: --handle-again handles all of them once more, --consider-handled none.",
    );
    return EXIT.usage;
  }
  const whenLost = options.handleAgain === true ? "handle-again" : "consider-handled";
  return onEngine({ config, terminal, whenLost }, async ({ ledger }) => {
    const { byState } = await ledger.counts();
    terminal.print(`${String(byState.pending)} events are pending, ${String(byState.done)} done.`);
    return EXIT.ok;
  });
}
