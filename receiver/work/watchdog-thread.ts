import { systemClock } from "../clock.ts";
import { watchParent } from "./watchdog.ts";

const [parentPid, graceMs] = process.argv.slice(2).map(Number);
if (parentPid === undefined || graceMs === undefined)
  throw new Error("This runs in a thread, given two numbers.");
watchParent(parentPid, graceMs, systemClock.monotonicMs);
