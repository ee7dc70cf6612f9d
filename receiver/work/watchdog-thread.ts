import { systemClock } from "../clock.ts";
import { watchParent } from "./watchdog.ts";

watchParent(systemClock.monotonicMs);
