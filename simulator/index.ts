import "./library/node-version.ts";
import { start } from "./library/start.ts";
import type { RunningSimulator, StartOptions } from "./library/surface.ts";

export type { Envelope, EventType } from "../shared/events.ts";
export type { ClockMode } from "./domain/clock.ts";
export type { Readings } from "./domain/readings.ts";
export type * from "./library/surface.ts";

/**
 * Starts the whole service (REST API, webhook delivery, dashboard) inside this process, on a free port of loopback, for
 * use in vitest, jest or node:test: `const simulator = await startSimulator()`. Any number can run at once. Rejects with
 * what to change when it cannot start or an option is wrong.
 */
export const startSimulator: (options?: StartOptions) => Promise<RunningSimulator> = start;
