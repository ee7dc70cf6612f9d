import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Builds what is published: JavaScript and type declarations in `dist/`, with the files that are read at run time beside
 * them. Node.js strips no types inside node_modules, so a package must not ship TypeScript.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const ENTRY_POINTS = ["dist/receiver/main.js", "dist/simulator/main.js"];
const READ_AT_RUN_TIME = /(?:\/dashboard\/public(?:\/|$)|\/operations(?:\/|$)|\.json$)/;

process.chdir(root);
rmSync("dist", { recursive: true, force: true });

const compiler = spawnSync("tsc", ["--project", "tools/tsconfig.build.json"], {
  stdio: "inherit",
  shell: process.platform === "win32",
});
if (compiler.status !== 0) process.exit(compiler.status ?? 1);

for (const folder of ["receiver", "simulator", "shared"]) {
  cpSync(folder, `dist/${folder}`, {
    recursive: true,
    filter: (source) => !/\.[^/.]+$/.test(source) || READ_AT_RUN_TIME.test(source.replaceAll("\\", "/")),
  });
}
for (const file of ENTRY_POINTS) chmodSync(file, 0o755);
console.log(`Built dist/: ${ENTRY_POINTS.join(", ")}`);
