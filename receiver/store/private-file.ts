import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { mayBeInbox } from "./schema.ts";

/** Files that SQLite has opened in this process: closing a descriptor of one would release its locks. */
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
  if (found && opened.has(found.ino)) return;
  withDescriptor(file, constants.O_CREAT, (descriptor) => {
    opened.add(fstatSync(descriptor).ino);
    if (!mayBeInbox(descriptor)) return;
    makePrivate(descriptor);
    for (const path of [`${file}-wal`, `${file}-shm`])
      if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) withDescriptor(path, 0, makePrivate);
  });
}

/** Opens what is named itself, not what a link there points to. */
function withDescriptor(path: string, flags: number, use: (descriptor: number) => void): void {
  const { O_NOFOLLOW, O_NONBLOCK } = constants;
  const descriptor = openSync(path, O_NOFOLLOW | O_NONBLOCK | flags, 0o600);
  try {
    use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function makePrivate(descriptor: number): void {
  const { mode } = fstatSync(descriptor);
  if ((mode & 0o077) !== 0) fchmodSync(descriptor, mode & 0o700);
}
