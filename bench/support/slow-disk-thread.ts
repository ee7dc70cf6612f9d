import { serveWriter } from "../../receiver/engines/sqlite/accept.ts";

const SLOWER_MS = 5;
const nobody = new Int32Array(new SharedArrayBuffer(4));

// A sync blocks its thread, and so does this.
serveWriter({ beforeCommit: () => void Atomics.wait(nobody, 0, 0, SLOWER_MS) });
