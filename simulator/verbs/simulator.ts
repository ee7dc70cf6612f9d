import type { createCounts } from "../domain/counts.ts";
import type { Emitter } from "../domain/emitter.ts";
import type { EventSummaries, EventLog } from "../domain/events.ts";
import type { Journal } from "../domain/journal.ts";
import type { Readings } from "../domain/readings.ts";
import type { RetentionBounds } from "../domain/retention.ts";
import type { createScenarios } from "../domain/scenarios.ts";
import type { createTraffic } from "../domain/traffic.ts";
import type { Listener } from "../processes/listening.ts";
import type { World } from "../domain/world/world.ts";
import type { createClockVerbs } from "./clock.ts";
import type { DeliveryVerbs } from "./deliveries.ts";
import type { createEndpointVerbs } from "./endpoints.ts";
import type { JobVerbs } from "./jobs.ts";
import type { VerdictVerbs } from "./verdicts.ts";
import type { createVerificationVerbs } from "./verification.ts";

/** The whole service in this process, for the control API, the library and the commands. */
export type Simulator = {
  seed: number;
  retention: RetentionBounds;
  world: World;
  endpoints: ReturnType<typeof createEndpointVerbs>;
  /** The usual ports of this machine that are open; nothing is sent to them. */
  listListeners: () => Promise<Listener[]>;
  /** Triggers events, sends recorded ones again; `summary` and `page` return what lists show. */
  events: Pick<Emitter, "emit" | "live" | "replay"> &
    Pick<EventLog, "find"> & { summary: EventSummaries["find"]; page: EventSummaries["page"] };
  deliveries: DeliveryVerbs;
  jobs: JobVerbs;
  clock: ReturnType<typeof createClockVerbs>;
  scenarios: ReturnType<typeof createScenarios>;
  traffic: ReturnType<typeof createTraffic>;
  counts: ReturnType<typeof createCounts>;
  verdicts: VerdictVerbs;
  verification: ReturnType<typeof createVerificationVerbs>;
  journal: Omit<Journal, "write">;
  readings: () => Readings;
  setReadings: (next: Readings) => void;
  /** The address of the REST API, for links in its answers. */
  setBaseUrl: (url: string) => void;
  /** Resolves when nothing is in flight and nothing is due now (with the clock `skip`: nothing is due any more). */
  settled: () => Promise<void>;
  /** Deletes every event and delivery and, by default, every endpoint; the seeded world stays. */
  reset: (keep: { endpoints: boolean }) => Promise<void>;
  close: () => Promise<void>;
};
