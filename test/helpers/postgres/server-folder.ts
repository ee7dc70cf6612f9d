import { mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";
/** Far more than all files of a server and its log; containers often have 64 MB in all. */
const ROOM_BYTES = 2 * 1024 ** 3;

/**
 * A new folder for the files of a server: in memory, where the system has room for them there. Each test has a database
 * of its own, and to make and drop hundreds of files for it takes a disk several times as long as all that is tested.
 */
export async function makeServerFolder(): Promise<string> {
  return mkdtemp(join((await hasRoom(IN_MEMORY)) ? IN_MEMORY : tmpdir(), "postgres-"));
}

async function hasRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}
