import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const ROOMY_BYTES = 2 * 1_024 ** 3;

/** A new directory, in memory if there is room: only the power-cut tests need real syncs. */
export function makeDirectory(): string {
  return mkdtempSync(join(isRoomy("/dev/shm") ? "/dev/shm" : tmpdir(), "receiver-"));
}

/** A directory that is deleted after the test. A concurrent test passes the hook of its own context. */
export function temporaryDirectory(finished = onTestFinished): string {
  const directory = makeDirectory();
  finished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function isRoomy(directory: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize > ROOMY_BYTES;
  } catch {
    return false;
  }
}
