import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { forkWorks } from "./fork.ts";
import { machineWith, type Machine } from "./machine.ts";
import { developsAnywhere, packKit, testRunnersWork } from "./package.ts";
import { readmeWorks } from "./readme.ts";

/**
 * What new users do first, done for real on machines of each major version of Node.js: packages are installed, commands
 * are typed. Needs a registry; takes some minutes. `-- 20 24` names the versions, `-- npx` a word of the trials.
 */
const KIT = fileURLToPath(new URL("../../../", import.meta.url));
const packed = packKit(KIT);

type Trial = {
  name: string;
  onNode: readonly number[];
  run: (machine: Machine) => string[] | Promise<string[]>;
};
const ALL = [20, 22, 24, 26];
const TRIALS: Trial[] = [
  {
    name: "a fork: npm ci, npm test, npm run check, npm start",
    onNode: [20, 24],
    run: (machine) => forkWorks(machine, KIT),
  },
  { name: "the README, word by word", onNode: [20, 22, 24], run: (machine) => readmeWorks(machine, KIT) },
  {
    name: "npx of the package in an empty folder, beside an app that listens",
    onNode: ALL,
    run: (machine) => developsAnywhere(machine, packed.file),
  },
  {
    name: "the package in vitest, jest (CommonJS, ES modules) and node:test",
    onNode: [20, 22, 26],
    run: (machine) => testRunnersWork(machine, packed.file, KIT),
  },
];

const cache = mkdtempSync(join(tmpdir(), "npm-cache-"));
const words = process.argv.slice(2);
const asked = words.filter((word) => /^\d+$/.test(word)).map(Number);
const named = words.filter((word) => !/^\d+$/.test(word));
let passed = 0;
try {
  for (const major of asked.length > 0 ? asked : ALL) {
    for (const { name, onNode, run } of TRIALS) {
      if (!onNode.includes(major) || !named.every((word) => name.includes(word))) continue;
      const startedAtMs = performance.now();
      // Each on a separate machine, so that none finds files of another.
      const machine = machineWith(major, { cache });
      try {
        const problems = await run(machine);
        const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(0);
        console.log(`${problems.length === 0 ? "✓" : "✗"} Node.js ${major}: ${name} (${seconds} s)`);
        for (const problem of problems) console.log(`    ${problem.replaceAll("\n", "\n    ")}`);
        if (problems.length > 0) process.exitCode = 1;
        else passed += 1;
      } finally {
        machine.remove();
      }
    }
  }
  console.log(`figure: trials = ${String(passed)} passed`);
} finally {
  packed.remove();
  rmSync(cache, { recursive: true, force: true });
}
