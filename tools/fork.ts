import "./node-version.ts";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, CommanderError } from "commander";
import { manifestSchema } from "./fork/manifest.ts";
import type { Parts } from "./fork/files.ts";
import { makeFork, upgradeFork } from "./fork/fork.ts";

const EXIT_USAGE = 2;
const EXIT_COULD_NOT_RUN = 3;
const kit = fileURLToPath(new URL("..", import.meta.url));
const { version } = manifestSchema.parse(JSON.parse(readFileSync(`${kit}package.json`, "utf8")));

const program = new Command("npm run fork --")
  .description("make the receiver a project of your own")
  .argument("<folder>", "the folder to create; it may exist if it is empty")
  .option("--library", "with the code that mounts the receiver in another app (createReceiver)")
  .option("--postgres", "with the store in PostgreSQL, for more than one machine")
  .option("--upgrade", "put this version of the kit on the branch kit of an existing fork")
  .showHelpAfterError("(npm run fork -- --help says more)")
  .exitOverride()
  .action((folder: string, { upgrade = false, ...parts }: { upgrade?: boolean } & Partial<Parts>) => {
    // npm runs scripts in the kit's folder; the path is relative to the user's.
    const target = resolve(process.env["INIT_CWD"] ?? ".", folder);
    const result = (upgrade ? upgradeFork : makeFork)({ kit, target, kitVersion: version, ...parts });
    if (result.ok) process.stdout.write(`${result.lines.join("\n")}\n`);
    else process.stderr.write(`${result.message}\n`);
    if (!result.ok) process.exitCode = EXIT_USAGE;
  });

try {
  program.parse();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
  else {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = EXIT_COULD_NOT_RUN;
  }
}
