import { spawnSync } from "node:child_process";

/** Installs the packages of a folder with a lockfile of its own, and shows what npm prints. Returns false if it failed. */
export function installPackages(folder: string): boolean {
  const { status } = spawnSync("npm", ["ci", "--prefix", folder], {
    stdio: "inherit",
    // On Windows npm is a script of the shell's.
    shell: process.platform === "win32",
  });
  return status === 0;
}
