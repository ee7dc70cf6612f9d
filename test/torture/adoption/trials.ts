import { fileURLToPath } from "node:url";
import { forkWorks } from "./fork.ts";
import { readmeWorks } from "./readme.ts";
import { machineWith, type Machine } from "./machine.ts";

/**
 * What new users do first, done for real on machines of each major version of Node.js: packages are installed, commands
 * are typed. Needs a registry; takes some minutes. `-- 20 24` names the versions.
 */
const KIT = fileURLToPath(new URL("../../../", import.meta.url));

const TRIALS: {
  name: string;
  onNode: number[];
  run: (machine: Machine, kit: string) => Promise<string[]>;
}[] = [
  { name: "a fork: npm ci, npm test, npm run check, npm start", onNode: [20, 24], run: forkWorks },
  { name: "the README, word by word", onNode: [20, 22, 24, 26], run: readmeWorks },
];

const asked = process.argv.slice(2).map(Number);
for (const major of asked.length > 0 ? asked : [20, 22, 24, 26]) {
  const machine = machineWith(major);
  try {
    for (const { name, onNode, run } of TRIALS) {
      if (!onNode.includes(major)) continue;
      const problems = await run(machine, KIT);
      console.log(`${problems.length === 0 ? "✓" : "✗"} Node.js ${major}: ${name}`);
      for (const problem of problems) console.log(`    ${problem.replaceAll("\n", "\n    ")}`);
      if (problems.length > 0) process.exitCode = 1;
    }
  } finally {
    machine.remove();
  }
}
