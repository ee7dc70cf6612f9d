import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { mayBeInbox } from "./schema.ts";

const RIGHTS_OF_OTHERS = 0o077;

/** Files that were opened by SQLite in this process: closing a descriptor of one would release its locks. */
const opened = new Set<number>();

/**
 * To be called before SQLite opens the file. Makes it, readable by its owner alone, if there is none; takes others' rights
 * from it and its log if it is an inbox. By descriptor: what a path names may be exchanged meanwhile.
 */
export function prepareFile(file: string): void {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) {
    // One folder is made, such as data/; more of them would hide that the name was mistyped.
    if (!existsSync(dirname(folder)))
      throw new Error(`there is no folder ${dirname(folder)}. Make it, or fix DATABASE_URL.`);
    mkdirSync(folder, { mode: 0o700 });
  }
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found && !found.isFile()) throw new Error(`${file} is not a regular file. Name one in DATABASE_URL.`);
  if (!found) writeFileSync(file, "", { flag: "ax", mode: 0o600 });
  const { ino } = lstatSync(file);
  if (opened.has(ino)) return;
  opened.add(ino);
  const open = [file, `${file}-wal`, `${file}-shm`].filter(isOpenToOthers);
  // Not opened without need: the app may have it open in a connection of its own.
  if (open.length === 0 || !withDescriptor(file, mayBeInbox)) return;
  for (const path of open)
    withDescriptor(path, (descriptor) =>
      fchmodSync(descriptor, fstatSync(descriptor).mode & ~RIGHTS_OF_OTHERS),
    );
}

function isOpenToOthers(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && (found.mode & RIGHTS_OF_OTHERS) !== 0;
}

/** Opens what is named itself, not what a link there points to. */
function withDescriptor<Result>(path: string, use: (descriptor: number) => Result): Result {
  const descriptor = openSync(path, constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
