import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const ROOMY_BYTES = 2 * 1_024 ** 3;

/** A new directory, in memory where there is room: what a disk makes of a sync is the business of the power-cut tests. */
export function makeDirectory(): string {
  return mkdtempSync(join(isRoomy("/dev/shm") ? "/dev/shm" : tmpdir(), "receiver-"));
}

/** A directory that is gone when the test is over. A concurrent test gives the hook of its own context. */
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
