import { parseEventType } from "../domain/event-type.ts";
import { parseScenario } from "../domain/world/scenario.ts";
import { listen } from "../service/server.ts";
import { createDeliveryControl, envelopeOf } from "./deliveries.ts";
import { createEndpointControl } from "./endpoints.ts";
import {
  faultsFrom,
  orThrow,
  refuseBeyondBounds,
  refuseUnknown,
  refuseUnknownWord,
  secondsFrom,
} from "./input.ts";
import type { ClockControl, EmitOptions, Emitted, RunningSimulator, StartOptions, Story } from "./surface.ts";
import { CLOCK_MODES } from "../domain/clock.ts";
import { parseReadings } from "../domain/readings.ts";
import { systemTime } from "../domain/wall-time.ts";
import { createSimulator } from "../service/simulator.ts";
import type { Simulator } from "../verbs/simulator.ts";

const EMIT = "simulator.emit()";
const EMIT_OPTIONS: (keyof EmitOptions)[] = ["object", "orgId", "count", "faults"];

/** Starts the service with the library's options. `dateMs` dates signatures where this context's date is not the test's. */
export async function start(
  options: StartOptions = {},
  dateMs: () => number = () => systemTime.nowMs(),
): Promise<RunningSimulator> {
  const simulator = simulatorFrom(options, dateMs);
  const listening = await listen(simulator, {
    port: options.port ?? 0,
    host: "127.0.0.1",
    onError: (error) => process.emitWarning(error instanceof Error ? error : String(error)),
  });
  if (!listening.ok) await simulator.close();
  const { server } = orThrow(listening);
  const deliveries = createDeliveryControl(simulator);
  let closing: Promise<void> | undefined;

  function close(): Promise<void> {
    closing ??= server.close().then(() => simulator.close());
    return closing;
  }

  async function emit(type: string, given: EmitOptions = {}): Promise<Emitted> {
    refuseUnknown(EMIT, given, EMIT_OPTIONS);
    const { object, orgId, count = 1, faults = [] } = given;
    refuseBeyondBounds(EMIT, { count });
    const known = orThrow(parseEventType(type)).type;
    const happening = { type: known, object, orgId, faults: faultsFrom(faults) };
    const { emitted } = orThrow(simulator.events.emit(happening, count), EMIT);
    await simulator.settled();
    return {
      events: emitted.map(({ event }) => envelopeOf(event)),
      deliveries: emitted.flatMap((one) => one.deliveries.map(({ id }) => deliveries.get(id))),
    };
  }

  async function tell(scenario: string | object): Promise<Story> {
    const name = typeof scenario === "string" ? scenario : added(scenario, simulator);
    const { scenario: begun, steps, endsAtMs } = orThrow(simulator.scenarios.begin(name)).begun;
    await simulator.settled();
    return { name: begun.name, steps, endsAt: new Date(endsAtMs) };
  }

  return {
    url: server.url,
    seed: simulator.seed,
    organizations() {
      return simulator.world
        .organizations()
        .map(({ organization: { id, name, industry }, apiKey }) => ({ id, name, industry, apiKey }));
    },
    emit,
    tell,
    deliveries,
    clock: createClockControl(simulator),
    endpoints: createEndpointControl(simulator),
    async reset(given = {}) {
      refuseUnknown("simulator.reset()", given, ["keepEndpoints"]);
      await simulator.reset({ endpoints: given.keepEndpoints ?? false });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function added(json: object, { scenarios }: Simulator): string {
  const { scenario } = orThrow(parseScenario(json));
  orThrow(scenarios.add(scenario));
  return scenario.name;
}

function createClockControl(simulator: Simulator): ClockControl {
  const { clock } = simulator;
  return {
    now: () => new Date(clock.now()),
    mode: () => clock.mode,
    setMode(mode) {
      refuseUnknownWord("simulator.clock.setMode(): the mode", mode, CLOCK_MODES);
      clock.setMode(mode);
    },
    // A wrong duration rejects the promise, as every other failure does.
    advance: async (duration) => clock.advance(secondsFrom(duration)),
    next: () => clock.next(),
    run: () => clock.run(),
  };
}

const CALL = "startSimulator()";

const KNOWN: Record<keyof StartOptions, true> = {
  port: true,
  clock: true,
  seed: true,
  dataFile: true,
  calls: true,
  readings: true,
  faults: true,
  allowedHosts: true,
  answerTimeoutMs: true,
  concurrency: true,
};

export function simulatorFrom(options: StartOptions, dateMs: () => number): Simulator {
  refuseUnknown(CALL, options, Object.keys(KNOWN));
  const {
    readings,
    faults = [],
    allowedHosts = [],
    clock = "manual",
    port,
    answerTimeoutMs,
    ...rest
  } = options;
  const { seed, calls, dataFile, concurrency } = rest;
  refuseBeyondBounds(CALL, { port, seed, calls, concurrency });
  refuseUnknownWord(`${CALL}: clock`, clock, CLOCK_MODES);
  if (answerTimeoutMs !== undefined && !(answerTimeoutMs > 0))
    throw new Error(`${CALL}: answerTimeoutMs is ${answerTimeoutMs}. Give milliseconds, such as 500.`);
  if (dataFile !== undefined && (typeof dataFile !== "string" || dataFile === ""))
    throw new Error(`${CALL}: dataFile is ${JSON.stringify(dataFile)}. Give a path, or leave it out.`);
  const choices = Object.entries(readings ?? {}).map(([name, choice]) => `${name}=${choice}`);
  const settings = {
    ...rest,
    answerTimeoutMs,
    clock,
    readings: orThrow(parseReadings(choices)).readings,
    faults: faultsFrom(faults),
    allowedHosts: [...allowedHosts],
    wall: { ...systemTime, nowMs: dateMs },
  };
  return orThrow(createSimulator(settings)).simulator;
}
