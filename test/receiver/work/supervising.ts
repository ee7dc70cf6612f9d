import { fork } from "node:child_process";
import { systemClock } from "../../../receiver/clock.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startSupervisor } from "../../../receiver/work/supervisor.ts";

/** A parent that can be killed: supervises the module that its argument names, and sends its parent the process's id. */
startSupervisor({
  environment: () => process.env,
  handlersModule: new URL(process.argv[2] ?? ""),
  memoryMegabytes: 512,
  clock: systemClock,
  log: createLog({ level: "silent" }),
  running: async () => [],
  onEnded: () => undefined,
  onDeath: () => undefined,
  fork: (file, args, options) => {
    const child = fork(file, args, options);
    process.send?.(child.pid);
    return child;
  },
});
