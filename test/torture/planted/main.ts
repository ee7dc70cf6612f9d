import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { countFrom } from "../options.ts";
import { BUGS } from "./bugs.ts";
import { createField, type Sound, type Verdict } from "./field.ts";
import type { PlantedBug } from "./planted-bug.ts";

const USAGE = `npm run torture -- --planted [--minutes N] [--only WORDS]

  Plants small bugs into copies of the code, one at a time, and looks whether a test fails.

  --minutes N    begins no bug after that long (default 1440)
  --only WORDS   only bugs whose kind, file or description contains these words

It exits with 1 when a bug survives. One whose text no longer stands in the code is told of, and left out: mend it in
test/torture/planted, or delete it there.
`;

/** Plants each bug, and answers with the exit code: 1 when one survives. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      planted: { type: "boolean" },
      minutes: { type: "string", default: "1440" },
      only: { type: "string", default: "" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const endsAtMs = performance.now() + countFrom("--minutes", values.minutes, 1_440) * 60_000;
  const chosen = BUGS.filter(({ kind = "", file, breaks }) =>
    `${kind} ${file} ${breaks}`.includes(values.only),
  );
  if (chosen.length === 0) {
    process.stderr.write(`No planted bug is called "${values.only}".\n`);
    return 2;
  }

  const seen: { bug: PlantedBug; verdict: Verdict }[] = [];
  const waiting = turned(chosen, Number(process.env["SEED"] ?? 0));
  const sound: Sound = new Map();
  const work = async (): Promise<void> => {
    const field = createField(sound);
    try {
      for (let bug = waiting.shift(); bug && performance.now() < endsAtMs; bug = waiting.shift()) {
        const verdict = await field.plant(bug);
        seen.push({ bug, verdict });
        process.stdout.write(`[${String(seen.length)}/${String(chosen.length)}] ${told(bug, verdict)}\n`);
      }
    } finally {
      field.clear();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), waiting.length) }, work));

  const count = (verdict: Verdict): number => seen.filter((one) => one.verdict === verdict).length;
  process.stdout.write("\n");
  for (const { bug, verdict } of seen)
    if (verdict !== "caught") process.stdout.write(`${told(bug, verdict)}\n`);
  process.stdout.write(
    `figure: planted bugs = ${String(BUGS.length)}\nfigure: tried = ${String(seen.length)}\nfigure: caught = ${String(count("caught"))}\nfigure: no longer fit = ${String(count("does not fit"))}\n`,
  );
  return count("survived") === 0 ? 0 : 1;
}

/** Begins elsewhere with another seed, so that runs without time for all of them try others each time. */
function turned(bugs: readonly PlantedBug[], seed: number): PlantedBug[] {
  const at = seed % bugs.length;
  return [...bugs.slice(at), ...bugs.slice(0, at)];
}

function told({ file, breaks }: PlantedBug, verdict: Verdict): string {
  return `${verdict === "caught" ? "✓" : "✗"} ${verdict}: ${file}: ${breaks}`;
}

process.exitCode = await main();
