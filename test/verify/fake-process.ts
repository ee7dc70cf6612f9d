import type { ReceiverProcess } from "../../simulator/processes/receiver-process.ts";
import { SECRET } from "../mutants/receiver.ts";

/** A process that cannot be started again, unless told otherwise. No signal meets anybody. */
export function fakeProcess(changes: Partial<ReceiverProcess>): ReceiverProcess {
  const nothing = () => Promise.resolve();
  return {
    pid: 2 ** 30,
    command: [],
    running: () => true,
    output: () => ["a line", `its secret: ${SECRET}`],
    memoryBytes: () => Promise.resolve(undefined),
    exited: () => new Promise<never>(() => undefined),
    kill: nothing,
    stop: nothing,
    restart: () => Promise.resolve({ ok: false, reason: "died", message: "", output: [] }),
    ...changes,
  };
}
