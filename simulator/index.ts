import "../shared/node-version.ts";
import type { Envelope, EventType } from "../shared/events.ts";
import type { ClockMode } from "./domain/clock.ts";
import { parseReadings, type Readings } from "./domain/readings.ts";
import { parseScenario } from "./domain/world/scenario.ts";
import { createClockControl, type ClockControl } from "./library/clock.ts";
import {
  createDeliveryControl,
  envelopeOf,
  type DeliveryControl,
  type DeliveryRecord,
} from "./library/deliveries.ts";
import { createEndpointControl, type EndpointControl } from "./library/endpoints.ts";
import { faultsFrom, orThrow, type FaultText } from "./library/input.ts";
import { listen } from "./server.ts";
import { createSimulator, type Simulator } from "./simulator.ts";

export type { Envelope, EventType } from "../shared/events.ts";
export type { ClockMode } from "./domain/clock.ts";
export type { Readings } from "./domain/readings.ts";
export type { ClockControl } from "./library/clock.ts";
export type { AttemptRecord, DeliveryControl, DeliveryRecord, DeliverySearch } from "./library/deliveries.ts";
export type { EndpointControl, EndpointRecord, EndpointRequest, Rotation } from "./library/endpoints.ts";
export type { FaultText } from "./library/input.ts";

export type StartOptions = {
  /** Port of the service; any free one unless given. */
  port?: number;
  /** How schedule time runs; `manual` unless given: no retry is made until your test moves the clock. */
  clock?: ClockMode;
  /** Same seed, same ids and data. Drawn at random unless given, since a receiver remembers ids between runs. */
  seed?: number;
  /** Keeps the state in this file; in memory unless given. */
  dataFile?: string;
  /** Calls in the generated history of each test world; 120 unless given. */
  calls?: number;
  /** How many organizations there are; two unless given. */
  organizations?: number;
  /** Choices for what the specification leaves open, such as `{ limit_out_of_range: "clamp" }`. */
  readings?: Partial<Readings>;
  /** What to do wrong to every endpoint, such as `["duplicate"]`, or `["drop-answer:1"]` on first attempts only. */
  faults?: readonly FaultText[];
  /** Hosts that an endpoint may have beside loopback names over http. */
  allowedHosts?: readonly string[];
  /** How long an endpoint has to answer. The service gives it 10 s; less makes a test of slow answers quick. */
  answerTimeoutMs?: number;
};

export type EmitOptions = {
  /** Fields of `data.object` that replace the made-up ones, merged deeply. */
  object?: Record<string, unknown>;
  /** The organization it happens in; one that fits the event type unless given. */
  orgId?: string;
  /** How many such events; one unless given. */
  count?: number;
  /** What to do wrong with these events alone. */
  faults?: readonly FaultText[];
};

/** What was set off: the envelopes as they were sent, and where their deliveries stand. */
export type Emitted = { events: Envelope[]; deliveries: DeliveryRecord[] };

/** A story that has begun, and when its last step happens in schedule time. */
export type Story = { name: string; steps: number; endsAt: Date };

/** A running simulator of the whole service, in this process. */
export type RunningSimulator = {
  /** Where it listens: `${url}/api/v1`, `${url}/dashboard`. */
  readonly url: string;
  /** What its data was made from; give it as `seed` to get the same again. */
  readonly seed: number;
  /** The organizations, each with the API key that reads it. */
  organizations(): { id: string; name: string; industry: string; apiKey: string }[];
  /**
   * Lets something happen in the world, which sends its event to every endpoint that selected it. Resolves when what was
   * due has been attempted: the first attempts with the clock `manual` or `real`, the whole schedule with `skip`.
   */
  emit(type: EventType, options?: EmitOptions): Promise<Emitted>;
  /**
   * Begins a story of several events: `busy-friday`, `after-hours-voicemail`, `failed-transfer`, `order-then-complaint`,
   * `outage`, or a scenario of your own. Its steps happen as the clock moves on; resolves as `emit` does.
   */
  tell(scenario: string | object): Promise<Story>;
  readonly deliveries: DeliveryControl;
  readonly clock: ClockControl;
  readonly endpoints: EndpointControl;
  /** Forgets events and deliveries, and endpoints unless told to keep them; the seeded world stays as it was made. */
  reset(options?: { keepEndpoints?: boolean }): Promise<void>;
  /** Ends attempts under way, closes every socket and timer. A second call does nothing. */
  close(): Promise<void>;
  /** Closes it at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Starts the whole service (REST API, webhook delivery, dashboard) inside this process, on a free port of loopback, for
 * use in vitest, jest or node:test. Any number can run at once. Rejects with what to change when it cannot start.
 */
export async function startSimulator(options: StartOptions = {}): Promise<RunningSimulator> {
  const simulator = create(options);
  const listening = await listen(simulator, {
    port: options.port ?? 0,
    host: "127.0.0.1",
    onError: (error) => process.emitWarning(error instanceof Error ? error : String(error)),
  });
  if (!listening.ok) {
    await simulator.close();
    throw new Error(listening.message);
  }
  const { server } = listening;
  const deliveries = createDeliveryControl(simulator);
  let closing: Promise<void> | undefined;

  function close(): Promise<void> {
    closing ??= server.close().then(() => simulator.close());
    return closing;
  }

  return {
    url: server.url,
    seed: simulator.seed,
    organizations: () =>
      simulator.world.organizations().map(({ organization: { id, name, industry }, apiKey }) => ({
        id,
        name,
        industry,
        apiKey,
      })),
    async emit(type, { object, orgId, count = 1, faults = [] } = {}) {
      const happening = { type, object, orgId, faults: faultsFrom(faults) };
      const { emitted } = orThrow(simulator.events.emit(happening, count));
      await simulator.settled();
      return {
        events: emitted.map(({ event }) => envelopeOf(event)),
        deliveries: emitted.flatMap((one) => one.deliveries.map(({ id }) => deliveries.get(id))),
      };
    },
    async tell(scenario) {
      const told = simulator.stories.tell(
        typeof scenario === "string" ? scenario : added(scenario, simulator),
      );
      const { scenario: begun, steps, endsAtMs } = orThrow(told).story;
      await simulator.settled();
      return { name: begun.name, steps, endsAt: new Date(endsAtMs) };
    },
    deliveries,
    clock: createClockControl(simulator),
    endpoints: createEndpointControl(simulator),
    reset: ({ keepEndpoints = false } = {}) => simulator.reset({ endpoints: keepEndpoints }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Adds a scenario of the caller's; answers its name. */
function added(json: object, { stories }: Simulator): string {
  const parsed = parseScenario(json);
  if (!parsed.ok) throw new Error(parsed.message);
  stories.add(parsed.scenario);
  return parsed.scenario.name;
}

function create(options: StartOptions): Simulator {
  const { readings, faults = [], allowedHosts = [], clock = "manual", ...rest } = options;
  const parsed = parseReadings(Object.entries(readings ?? {}).map(([name, choice]) => `${name}=${choice}`));
  if (!parsed.ok) throw new Error(parsed.message);
  const created = createSimulator({
    ...rest,
    clock,
    readings: parsed.readings,
    faults: faultsFrom(faults),
    allowedHosts: [...allowedHosts],
  });
  if (!created.ok) throw new Error(created.message);
  return created.simulator;
}
