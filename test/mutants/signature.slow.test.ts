import { expect, test } from "vitest";
import { SIGNATURE_MUTANTS } from "./mutants.ts";
import { judgeAll, printTable } from "./table.ts";

test("each planted bug is caught by the check meant for it, and by no other than stated", async () => {
  const rows = await judgeAll(SIGNATURE_MUTANTS);
  process.stdout.write(`${printTable(rows)}\n`);

  const surprises = rows.filter((row) => row.surprises.length > 0);
  expect(surprises.map(({ name, surprises }) => ({ name, surprises }))).toEqual([]);
}, 600_000);
