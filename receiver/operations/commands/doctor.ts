import { systemClock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import { examine, type Finding } from "../doctor.ts";
import type { Engine } from "../../engine.ts";
import { createRestClient } from "../rest-client.ts";
import type { Terminal } from "./terminal.ts";

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
