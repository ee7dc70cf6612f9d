import { serveWriter } from "../../receiver/engines/sqlite/writer.ts";

/** A writer on a disk whose every sync takes 5 ms more; blocks like one, with the transaction open. */
const nothing = new Int32Array(new SharedArrayBuffer(4));

serveWriter({ beforeCommit: () => void Atomics.wait(nothing, 0, 0, 5) });
