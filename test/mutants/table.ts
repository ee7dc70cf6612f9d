import { type Group, GROUPS } from "../../simulator/verify/check.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { idsOf, judge } from "./judge.ts";
import type { Mutant } from "./mutant.ts";

/** Mutants judged side by side in one process: enough to fill each other's waits. */
const LANES = 12;

export type Row = {
  name: string;
  mutant: Mutant;
  failed: string[];
  /** Failures that nobody foresaw, and expected ones that did not come. */
  surprises: string[];
};

/** In the long run every mutant meets every check; else those of the groups that are said to see it. */
const MEETS_ALL = process.env["VERIFY_MUTANTS"] !== undefined;

/** Judges every mutant. */
export async function judgeAll(mutants: Record<string, Mutant>): Promise<Row[]> {
  const rows: Row[] = [];
  const next = Object.entries(mutants).entries();
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (const [index, [name, mutant]] of next)
        rows[index] = rowOf(name, mutant, await judge(mutant.plant, { ...mutant, groups: groupsOf(mutant) }));
    }),
  );
  return rows;
}

/** The table mutant × checks: the check that is meant to catch it first, then those that cannot help seeing it. */
export function printTable(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows
    .map(({ name, mutant, failed }) => {
      const others = failed.filter((id) => id !== mutant.caughtBy);
      const caught = failed.includes(mutant.caughtBy) ? "✗" : "MISSED BY";
      return `${name.padEnd(width)}  ${mutant.bug}\n${"".padEnd(width)}    ${caught} ${[mutant.caughtBy, ...others].join(", ")}`;
    })
    .join("\n");
}

/** The groups of the checks that are named for it. */
function groupsOf({ groups, caughtBy, alsoBy = [] }: Mutant): readonly Group[] {
  if (groups !== undefined) return groups;
  const named = [caughtBy, ...alsoBy].map((id) => id.split(".")[0]);
  return MEETS_ALL ? GROUPS : GROUPS.filter((group) => named.includes(group));
}

function rowOf(name: string, mutant: Mutant, report: Report): Row {
  const failed = idsOf(report, "failed");
  const unverified = mutant.kills === true ? [] : idsOf(report, "unverified");
  const expected = [mutant.caughtBy, ...(mutant.alsoBy ?? [])];
  const allowed = new Set([...expected, ...(mutant.mayAlso ?? [])]);
  return {
    name,
    mutant,
    failed,
    surprises: [
      ...expected.filter((id) => !failed.includes(id)).map((id) => `not seen by ${id}`),
      ...(allowed.has("*") ? [] : failed.filter((id) => !allowed.has(id)).map((id) => `also seen by ${id}`)),
      ...unverified.map((id) => `not judged by ${id}`),
    ],
  };
}
