import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { createField } from "./field.ts";
import { lists } from "./lists.ts";
import type { PlantedBug } from "./planted-bug.ts";
import { createRecord, type Verdict } from "./record.ts";

const USAGE = `npm run torture -- --mutants [--changed] [--minutes N] [--only WORDS] [--again] [--json FILE]

  Plants small bugs into copies of the code, one at a time, and looks whether a test fails. What was found is kept in
  node_modules/.cache/planted.json, so that a run that was stopped goes on, and what did not change is not tried again.

  --changed      only bugs whose code or tests differ from the main branch
  --minutes N    begins no bug after that long (with --changed: 10, else 1440)
  --only WORDS   only bugs whose list ("borders:"), file or description contains these words
  --again        forgets what was found before
  --json FILE    writes every verdict there
`;

/** Plants each bug, and answers with the exit code: 0 when each is caught or known to survive, 1 when one is not. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      mutants: { type: "boolean" },
      changed: { type: "boolean", default: false },
      minutes: { type: "string" },
      only: { type: "string", default: "" },
      again: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const minutes = Number(values.minutes ?? (values.changed ? 10 : 1_440));
  const endsAtMs = performance.now() + minutes * 60_000;
  const changed = values.changed ? changedFiles() : undefined;
  const chosen = Object.entries(lists).flatMap(([list, bugs]) =>
    bugs.filter(({ file, what, tests }) => {
      const isChanged = !changed || [file, ...tests].some((name) => changed.has(name));
      return isChanged && `${list}: ${file} ${what}`.includes(values.only);
    }),
  );
  if (chosen.length === 0 && values.only !== "") {
    process.stderr.write(`No planted bug is called "${values.only}".\n`);
    return 2;
  }

  const record = createRecord({ forget: values.again });
  const waiting = [...chosen];
  const verdicts = new Map<PlantedBug, Verdict>();
  const work = async (): Promise<void> => {
    const field = createField();
    try {
      for (let bug = waiting.shift(); bug && performance.now() < endsAtMs; bug = waiting.shift()) {
        const known = record.find(bug);
        const verdict = known ?? (await field.plant(bug));
        if (!known) record.keep(bug, verdict);
        verdicts.set(bug, verdict);
        const place = `[${String(verdicts.size)}/${String(chosen.length)}]`;
        process.stdout.write(`${place} ${mark(bug, verdict)} ${bug.file}: ${bug.what}\n`);
      }
    } finally {
      field.clear();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), chosen.length) }, work));

  process.stdout.write(`\n${table(verdicts)}`);
  if (chosen.length > verdicts.size)
    process.stdout.write(`${String(chosen.length - verdicts.size)} were not tried; run it again to go on.\n`);
  if (values.json !== undefined)
    writeFileSync(
      values.json,
      JSON.stringify(
        [...verdicts].map(([bug, verdict]) => ({ ...bug, verdict })),
        undefined,
        2,
      ),
    );
  return [...verdicts].every(([bug, verdict]) => isExpected(bug, verdict)) ? 0 : 1;
}

function isExpected(bug: PlantedBug, verdict: Verdict): boolean {
  return verdict === "caught" || (verdict === "survived" && bug.survives !== undefined);
}

function mark(bug: PlantedBug, verdict: Verdict): string {
  return `${isExpected(bug, verdict) ? "✓" : "✗"} ${verdict}`;
}

/** One line a folder, and then each bug that was not caught. */
function table(verdicts: Map<PlantedBug, Verdict>): string {
  const lines: string[] = [];
  for (const [folder, bugs] of Object.entries(lists)) {
    const tried = bugs.filter((bug) => verdicts.has(bug));
    if (tried.length === 0) continue;
    const caught = tried.filter((bug) => verdicts.get(bug) === "caught").length;
    const share = Math.floor((100 * caught) / tried.length);
    lines.push(
      `${folder.padEnd(20)} ${String(caught).padStart(4)} of ${String(tried.length).padStart(3)} caught  ${String(share).padStart(3)} %\n`,
    );
  }
  for (const [bug, verdict] of verdicts)
    if (verdict !== "caught") lines.push(`${verdict}: ${bug.file}: ${bug.what}. ${bug.survives ?? ""}\n`);
  return lines.join("");
}

/** What differs from the main branch where this one left it, committed or not. */
function changedFiles(): Set<string> {
  const git = (...words: string[]): string[] =>
    execFileSync("git", words, { encoding: "utf8" }).trim().split("\n");
  const [base = "HEAD"] = git("merge-base", "HEAD", "main");
  return new Set([...git("diff", "--name-only", base), ...git("ls-files", "--others", "--exclude-standard")]);
}

process.exitCode = await main();
