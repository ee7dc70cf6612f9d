import "../tools/node-version.ts";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { basename, join } from "node:path";
import { installPackages } from "../tools/install-packages.ts";

/**
 * `npm run bench` runs every benchmark of this folder, each in a separate process; `npm run bench -- delivery load`
 * only those. Options after the names go to them: `npm run bench -- receiver --rounds 2`.
 */
const SELF = "main.ts";
const GIB = 2 ** 30;

const words = process.argv.slice(2).filter((word) => word !== "--");
const firstOption = words.findIndex((word) => word.startsWith("-"));
const wanted = firstOption === -1 ? words : words.slice(0, firstOption);
const passedOn = words.slice(wanted.length);
const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts") && file !== SELF)
  .map((file) => basename(file, ".ts"));

if (passedOn.some((word) => word === "--help" || word === "-h")) {
  process.stdout.write(
    `Usage: npm run bench -- [names] [options of theirs, such as --rounds 2]\n\nBenchmarks: ${names.join(", ")}\n`,
  );
  process.exit();
}

const unknown = wanted.find((name) => !names.includes(name));
if (unknown !== undefined) {
  process.stderr.write(`Unknown benchmark "${unknown}". The benchmarks are ${names.join(", ")}.\n`);
  process.exit(2);
}

if (!installPackages(import.meta.dirname)) process.exit(1);

const processors = cpus();
process.stdout.write(
  `Node.js ${process.versions.node}, ${processors.length} × ${processors[0]?.model ?? "unknown"}, ${Math.round(totalmem() / GIB)} GiB\n`,
);
for (const name of wanted.length === 0 ? names : wanted) {
  process.stdout.write(`\n${name}\n`);
  const script = join(import.meta.dirname, `${name}.ts`);
  const { status } = spawnSync(process.execPath, [script, ...passedOn], {
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
}
