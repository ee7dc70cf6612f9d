import { unwatchFile, watchFile } from "node:fs";

/** How often the files are looked at. By looking, it also works on disks that tell of no change, as in containers. */
const INTERVAL_MS = 200;

export type FileWatch = {
  /** From here on, watches these files, in place of those before. */
  follow: (files: readonly string[]) => void;
};

/** Calls `onChange` when one of the files that are followed changes, however an editor does it. Keeps no process alive. */
export function watchFiles(onChange: () => void): FileWatch {
  let followed: ReadonlySet<string> = new Set();
  return {
    follow: (files) => {
      const next = new Set(files);
      for (const file of followed) if (!next.has(file)) unwatchFile(file, onChange);
      for (const file of next)
        if (!followed.has(file)) watchFile(file, { interval: INTERVAL_MS, persistent: false }, onChange);
      followed = next;
    },
  };
}
