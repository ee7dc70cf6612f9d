import { z } from "zod";
import type { EventType } from "../../shared/events.ts";
import { type Refused, refused } from "../domain/refused.ts";
import { type Check, GROUPS, type Level, LEVELS, PHASES, type Runs } from "./check.ts";
import { answerRuns } from "./checks/answers.ts";
import { crashRuns } from "./checks/crash.ts";
import { effectRuns } from "./checks/effects.ts";
import { productionRuns } from "./checks/production.ts";
import { rawByteRuns } from "./checks/raw-bytes.ts";
import { signatureTimeRuns } from "./checks/signature-time.ts";
import { signatureRuns } from "./checks/signature.ts";
import { unfamiliarRuns } from "./checks/unfamiliar.ts";
import { wireRuns } from "./checks/wire.ts";
import type { Need } from "./context.ts";
import { ruleOf } from "./rules.ts";
import { TABLE } from "./table.ts";

const RUNS: Runs = {
  ...answerRuns,
  ...signatureRuns,
  ...signatureTimeRuns,
  ...rawByteRuns,
  ...unfamiliarRuns,
  ...wireRuns,
  ...effectRuns,
  ...crashRuns,
  ...productionRuns,
};

const rowSchema = z.object({
  id: z.string(),
  level: z.enum(LEVELS),
  phase: z.enum(PHASES),
  rule: z.string(),
  title: z.string(),
});

/** What a check or a group of checks needs to be judged. */
const NEEDS_OF: Record<string, readonly Need[]> = {
  effects: ["observe"],
  crash: ["command", "observe"],
  "crash.restarts": ["command"],
  "production.failed-work-retried": ["observe"],
  "production.poison-stops-nothing": ["observe"],
  "production.full-queue-survives": ["command", "observe"],
  "production.drains": ["command"],
  "production.flood-costs-no-memory": ["command"],
  "production.log-names-nobody": ["command"],
};

export const CATALOGUE: readonly Check[] = checksOf(TABLE.trim().split("\n"));

function checksOf(lines: readonly string[]): Check[] {
  let fix = "";
  return lines.flatMap((line) => {
    if (!line.startsWith("fix: ")) return [checkOf(line.trimStart(), line.startsWith(" ") ? fix : undefined)];
    fix = line.slice("fix: ".length);
    return [];
  });
}

function checkOf(line: string, hint: string | undefined): Check {
  const [id = "", level, phase, rule, ...title] = line.split(/ +/);
  const row = rowSchema.parse({ id, level, phase, rule, title: title.join(" ") });
  const group = GROUPS.find((name) => id.startsWith(`${name}.`));
  const own = RUNS[id];
  if (group === undefined || own === undefined) throw new Error(`The check ${id} has no group or no run.`);
  return {
    ...row,
    group,
    spec: ruleOf(row.rule),
    hint,
    needs: NEEDS_OF[id] ?? NEEDS_OF[group],
    ...(typeof own === "function" ? { run: own } : own),
  };
}

export type Selection = {
  only?: string[] | undefined;
  skip?: string[] | undefined;
  level?: Depth | undefined;
  events?: readonly EventType[] | undefined;
};

/** A level of checks; `production` takes more of them than a run otherwise has. */
export type Depth = Level | "production";

export type Selected = { ok: true; checks: Check[] } | Refused;

/** The preflight can also be selected by name. */
const PREFLIGHT = "preflight";

/** The selected checks; a pattern is a group, a check's id, or a beginning such as `signature.stale*`. */
export function selectChecks(selection: Selection, catalogue: readonly Check[] = CATALOGUE): Selected {
  const { only, skip = [], level, events } = selection;
  for (const pattern of [...(only ?? []), ...skip]) {
    if (pattern === PREFLIGHT || catalogue.some((check) => matches(check, pattern))) continue;
    return refused(
      `No check matches ${JSON.stringify(pattern)}. ` +
        `Give a group (${GROUPS.join(", ")}), a check's id, or a beginning followed by *. All ids: verify --list`,
    );
  }
  const isAsked = ({ group }: Check): boolean => group !== "production" || level === "production";
  const closed = only?.find((pattern) => {
    const named = catalogue.filter((check) => matches(check, pattern));
    return named.length > 0 && !named.some(isAsked);
  });
  if (closed !== undefined) return refused(`${closed} needs --level production.`);
  const checks = catalogue.filter(
    (check) =>
      isAsked(check) &&
      (only === undefined || only.some((pattern) => matches(check, pattern))) &&
      !skip.some((pattern) => matches(check, pattern)) &&
      (level !== "must" || check.level === "must") &&
      isSentTo(events, check),
  );
  if (checks.length > 0 || only?.every((pattern) => pattern === PREFLIGHT) === true)
    return { ok: true, checks };
  return refused("The selection has no check. See verify --list.");
}

/** Whether an endpoint registered for `events` gets all types that the check needs. */
function isSentTo(events: readonly EventType[] | undefined, { about = [] }: Check): boolean {
  return events === undefined || about.every((type) => events.some((selected) => selected === type));
}

function matches(check: Check, pattern: string): boolean {
  if (pattern.endsWith("*")) return check.id.startsWith(pattern.slice(0, -1));
  return check.id === pattern || check.group === pattern;
}
