import { statSync } from "node:fs";
import type { Clock } from "../clock.ts";

/** How often the files are polled: disks of containers report no changes. */
const INTERVAL_MS = 200;

export type FileWatch = {
  /** Watches these files from now on, instead of those before. */
  follow: (files: readonly string[]) => void;
  stop: () => void;
};

/** Calls `onChange` when a followed file has changed, however an editor does it. */
export function watchFiles(onChange: () => void, clock: Clock): FileWatch {
  let changedAtMs = new Map<string, number | undefined>();
  let cancel = clock.after(INTERVAL_MS, look);

  return {
    follow: (files) => {
      changedAtMs = new Map(files.map((file) => [file, changedAtMs.get(file) ?? lastChangeMs(file)]));
    },
    stop: () => cancel(),
  };

  function look(): void {
    cancel = clock.after(INTERVAL_MS, look);
    const changed = [...changedAtMs].filter(([file, atMs]) => lastChangeMs(file) !== atMs);
    for (const [file] of changed) changedAtMs.set(file, lastChangeMs(file));
    if (changed.length > 0) onChange();
  }
}

/** Undefined if there is no such file. */
function lastChangeMs(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}
