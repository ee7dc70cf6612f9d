import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSimulator, type RunningSimulator } from "../../../simulator/index.ts";

// Callers without types can pass wrong values.
const untyped = (value: unknown) => value as never;

let simulator: RunningSimulator;
beforeAll(async () => {
  simulator = await startSimulator({ calls: 0, seed: 4 });
});
afterAll(() => simulator.close());

describe("what startSimulator() does not take", () => {
  test.each([
    [{ sed: 3 }, 'startSimulator() has no option "sed". Did you mean "seed"?'],
    [{ datafile: "x" }, 'has no option "datafile". Did you mean "dataFile"?'],
    [{ clock: "manuel" }, 'clock is real, skip, manual, not "manuel". Did you mean "manual"?'],
    [{ seed: -1 }, "seed is -1. Give a whole number from 0 to 2147483647."],
    [{ seed: "7" }, 'seed is "7". Give a whole number'],
    [{ port: 65_536 }, "port is 65536. Give a whole number from 0 to 65535."],
    [{ calls: 1.5 }, "calls is 1.5. Give a whole number"],
    [{ answerTimeoutMs: 0 }, "answerTimeoutMs is 0. Give milliseconds"],
    [{ dataFile: "" }, 'dataFile is "". Give a path'],
    [{ faults: "duplicate" }, 'Faults are a list, such as ["duplicate"].'],
    [{ readings: { limit_out_of_range: "clmp" } }, 'Did you mean "clamp"?'],
    [["seed"], "takes its options as an object"],
    [
      { port: 1, dataFile: "/nowhere/x.db" },
      "The folder /nowhere does not exist: create it, or correct dataFile.",
    ],
  ])("%j: %s", async (options, message) => {
    await expect(startSimulator(untyped(options))).rejects.toThrow(message);
  });
});

describe("what a running simulator does not take", () => {
  test.each([
    ["call.complete", {}, 'Unknown event type "call.complete". Did you mean "call.completed"?'],
    ["call.completed", { objects: {} }, 'simulator.emit() has no option "objects". Did you mean "object"?'],
    ["call.completed", { count: 0 }, "count is 0. Give a whole number from 1 to 10000."],
    ["call.completed", { object: { outcom: "x" } }, 'Did you mean "outcome"?'],
    ["call.completed", { object: { duration_sec: "x" } }, "simulator.emit(): object.duration_sec: "],
  ])("emit(%j, %j): %s", async (type, options, message) => {
    await expect(simulator.emit(untyped(type), untyped(options))).rejects.toThrow(message);
    expect(simulator.deliveries.list()).toEqual([]);
  });

  test.each([
    [
      () => simulator.endpoints.add(untyped({ uri: "http://localhost:9/" })),
      'no option "uri". Did you mean "url"?',
    ],
    [
      () => simulator.endpoints.add(untyped({ url: "http://localhost:9/", eventTypes: ["order.create"] })),
      'Did you mean "order.created"?',
    ],
    [() => simulator.endpoints.change("ep_x", untyped({ secret: "whsec_x" })), 'no option "secret"'],
    [() => simulator.deliveries.list(untyped({ state: "deliverd" })), '"attempting"|"delivered"|"dead"'],
    [() => simulator.deliveries.list(untyped({ endpoint: "ep_x" })), 'no option "endpoint"'],
    [
      () => simulator.endpoints.add({ url: "localhost:3000" }),
      "write it in full, such as http://localhost:3000",
    ],
    [() => simulator.endpoints.add({ url: "http://example.com" }), "with allowedHosts: example.com"],
    [() => simulator.clock.setMode(untyped("real-time")), 'not "real-time"'],
  ])("%s: %s", (ask, message) => {
    expect(ask).toThrow(message);
  });

  test("an invalid envelope, and an unknown option of reset", async () => {
    await expect(simulator.deliveries.replay(untyped({ id: "evt_1" }))).rejects.toThrow(
      "this is not an envelope: id:",
    );
    await expect(simulator.deliveries.replay(untyped({}), untyped({ newID: true }))).rejects.toThrow(
      'Did you mean "newId"?',
    );
    await expect(simulator.reset(untyped({ keepEndpoint: true }))).rejects.toThrow(
      'Did you mean "keepEndpoints"?',
    );
  });
});

test("a simulator that was closed", async () => {
  const closed = await startSimulator({ calls: 0 });
  await closed.close();
  const sentence = "The database connection is not open";
  expect(() => closed.endpoints.list()).toThrow(sentence);
  expect(() => closed.deliveries.list()).toThrow(sentence);
  await expect(closed.emit("call.completed")).rejects.toThrow(sentence);
  await expect(closed.tell("outage")).rejects.toThrow(sentence);
  await expect(closed.reset()).rejects.toThrow(sentence);
});
