import type Database from "better-sqlite3";

/**
 * Answers whether other connections wrote to the file since the last time it was asked. It reads a number from shared
 * memory, so it may be asked many times a second.
 */
export function createLook(file: Database.Database): () => boolean {
  const find = file.prepare<[], number>("PRAGMA data_version").pluck();
  let last: number | undefined;
  return () => {
    const version = find.get();
    const changed = version !== last;
    last = version;
    return changed;
  };
}
