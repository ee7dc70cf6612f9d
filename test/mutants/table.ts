import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { idsOf, judge } from "./judge.ts";
import type { Mutant } from "./mutant.ts";

/** The check that judges what others sent; where these are not run, it has nothing to see. */
const JUDGES_OTHERS = "effects.ledger";
/** Mutants judged side by side in one process: enough to fill each other's waits. */
const LANES = 30;

export type Row = {
  name: string;
  mutant: Mutant;
  failed: string[];
  /** Failures that nobody foresaw, and expected ones that did not come. */
  surprises: string[];
};

/**
 * In the long run every mutant meets every check; with `npm run test:all` those of the groups that are said to see it, so
 * that nothing else there does; else the checks that are said to see it.
 */
const MEETS_ALL = process.env["VERIFY_MUTANTS"] !== undefined;

/** Judges every mutant. */
export async function judgeAll(mutants: Record<string, Mutant>): Promise<Row[]> {
  const rows: Row[] = [];
  const next = Object.entries(mutants).entries();
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (const [index, [name, mutant]] of next)
        rows[index] = rowOf(
          name,
          mutant,
          await judge(mutant.plant, { ...mutant, checks: checksFor(mutant) }),
        );
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

/** The checks that it meets: all, those of the groups of the checks that are named for it, or these alone. */
function checksFor({ groups, meets, caughtBy, alsoBy = [] }: Mutant): readonly Check[] {
  const named = [caughtBy, ...alsoBy];
  const namedGroups = named.map((id) => id.split(".")[0]);
  return CATALOGUE.filter(({ phase }) => phase !== "crash").filter(({ id, group }) => {
    if (groups !== undefined && (ALL || MEETS_ALL)) return groups.includes(group);
    if (MEETS_ALL || meets === "all") return true;
    return meets === "named" || !ALL ? named.includes(id) : namedGroups.includes(group);
  });
}

function rowOf(name: string, mutant: Mutant, report: Report): Row {
  const failed = idsOf(report, "failed");
  const unverified = mutant.kills === true ? [] : idsOf(report, "unverified");
  const seesOthers = MEETS_ALL || mutant.meets === "all";
  const expected = [mutant.caughtBy, ...(mutant.alsoBy ?? [])].filter(
    (id) => seesOthers || id !== JUDGES_OTHERS,
  );
  const allowed = new Set([...expected, ...(mutant.mayAlso ?? [])]);
  return {
    name,
    mutant,
    failed,
    surprises: [
      ...expected.filter((id) => !failed.includes(id)).map((id) => `not seen by ${id}`),
      ...(allowed.has("*") ? [] : failed.filter((id) => !allowed.has(id)).map((id) => `also seen by ${id}`)),
      ...unverified.filter((id) => mutant.mayAlso?.includes(id) !== true).map((id) => `not judged by ${id}`),
    ],
  };
}
