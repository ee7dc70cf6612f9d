import { watch, type FSWatcher } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Clock } from "../clock.ts";

/** An editor writes a file in several steps. */
const SETTLE_MS = 50;

export type FileWatch = {
  /** From here on, watches these files, in place of those before. */
  follow: (files: readonly string[]) => void;
  stop: () => void;
};

/** Calls `onChange` when one of the files that are followed changes, however an editor does it. */
export function watchFiles(onChange: () => void, clock: Clock): FileWatch {
  let followed = new Set<string>();
  const watchers = new Map<string, FSWatcher>();
  let cancel = (): void => undefined;

  return {
    follow: (files) => {
      followed = new Set(files);
      // Folders, since many editors put a new file in the place of the old one.
      const folders = new Set(files.map((file) => dirname(file)));
      for (const [folder, watcher] of watchers) if (!folders.has(folder)) unwatch(folder, watcher);
      for (const folder of folders) if (!watchers.has(folder)) watchFolder(folder);
    },
    stop: () => {
      cancel();
      for (const [folder, watcher] of watchers) unwatch(folder, watcher);
    },
  };

  function watchFolder(folder: string): void {
    const watcher = watch(folder, (_, name) => {
      if (name === null || !followed.has(resolve(folder, name))) return;
      cancel();
      cancel = clock.after(SETTLE_MS, onChange);
    });
    // A folder that goes away takes its files along.
    watcher.on("error", () => unwatch(folder, watcher));
    watchers.set(folder, watcher);
  }

  function unwatch(folder: string, watcher: FSWatcher): void {
    watcher.close();
    watchers.delete(folder);
  }
}
