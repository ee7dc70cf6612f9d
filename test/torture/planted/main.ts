import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { countFrom } from "../options.ts";
import { createField, type Sound } from "./field.ts";
import { lists } from "./lists.ts";
import type { PlantedBug } from "./planted-bug.ts";
import { createRecord, type Finding, type Verdict } from "./record.ts";
import { sharesOf } from "./table.ts";

const USAGE = `npm run torture -- --mutants [--changed] [--minutes N] [--only WORDS] [--again] [--json FILE]

  Plants small bugs into copies of the code, one at a time, and looks whether a test fails. What was found is kept in
  the user's cache folder with its commit, so that a run that was stopped goes on, in whichever checkout, and a bug whose
  code and tests did not change since is not tried again.

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
  const minutes = countFrom("--minutes", values.minutes ?? (values.changed ? "10" : "1440"), 1_440);
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

  const commit = git("rev-parse", "--short", "HEAD");
  const record = createRecord({ commit, forget: values.again });
  const findings = new Map<PlantedBug, Finding>();
  for (const bug of chosen) {
    const finding = record.find(bug);
    if (finding) findings.set(bug, finding);
  }
  const waiting = chosen.filter((bug) => !findings.has(bug));
  process.stdout.write(`${String(findings.size)} are known, ${String(waiting.length)} to be tried\n`);
  const sound: Sound = new Map();
  const work = async (): Promise<void> => {
    const field = createField(sound);
    try {
      for (let bug = waiting.shift(); bug && performance.now() < endsAtMs; bug = waiting.shift()) {
        const finding = record.keep(bug, await field.plant(bug));
        findings.set(bug, finding);
        const place = `[${String(findings.size)}/${String(chosen.length)}]`;
        process.stdout.write(`${place} ${mark(bug, finding.verdict)} ${bug.file}: ${bug.what}\n`);
      }
    } finally {
      field.clear();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), waiting.length) }, work));

  process.stdout.write(`\n${table(findings, commit)}`);
  if (chosen.length > findings.size)
    process.stdout.write(`${String(chosen.length - findings.size)} were not tried; run it again to go on.\n`);
  if (values.json !== undefined)
    writeFileSync(
      values.json,
      JSON.stringify(
        [...findings].map(([bug, { verdict, commit: seenAt }]) => ({ ...bug, verdict, commit: seenAt })),
        undefined,
        2,
      ),
    );
  return [...findings].every(([bug, { verdict }]) => isExpected(bug, verdict)) ? 0 : 1;
}

function isExpected(bug: PlantedBug, verdict: Verdict): boolean {
  return verdict === "caught" || (verdict === "survived" && bug.survives !== undefined);
}

function mark(bug: PlantedBug, verdict: Verdict): string {
  return `${isExpected(bug, verdict) ? "✓" : "✗"} ${verdict}`;
}

/** One line a folder, and then each bug that was not caught. */
function table(findings: Map<PlantedBug, Finding>, commit: string): string {
  const lines = sharesOf(lists, (bug) => findings.get(bug))
    .filter(({ tried }) => tried > 0)
    .map(({ list, tried, caught }) => {
      const share = String(Math.floor((100 * caught) / tried)).padStart(3);
      return `${list.padEnd(20)} ${String(caught).padStart(4)} of ${String(tried).padStart(3)} caught  ${share} %\n`;
    });
  const earlier = [...findings.values()].filter((finding) => finding.commit !== commit).length;
  lines.push(`at ${commit}; ${String(earlier)} were seen at earlier commits, with the same code and tests\n`);
  for (const [bug, { verdict }] of findings)
    if (verdict !== "caught") lines.push(`${verdict}: ${bug.file}: ${bug.what}. ${bug.survives ?? ""}\n`);
  return lines.join("");
}

/** What differs from the main branch where this one left it, committed or not. */
function changedFiles(): Set<string> {
  const base = git("merge-base", "HEAD", "main");
  const names = [git("diff", "--name-only", base), git("ls-files", "--others", "--exclude-standard")];
  return new Set(names.flatMap((list) => list.split("\n")));
}

function git(...words: string[]): string {
  return execFileSync("git", words, { encoding: "utf8" }).trim();
}

process.exitCode = await main();
