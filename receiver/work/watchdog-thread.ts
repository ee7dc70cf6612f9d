import { workerData } from "node:worker_threads";
import { z } from "zod";
import { systemClock } from "../clock.ts";
import { watchParent } from "./watchdog.ts";

const watched = z.object({ parentPid: z.number(), graceMs: z.number() }).parse(workerData);
watchParent(watched, systemClock.monotonicMs);
