import type { PlantedBug } from "./planted-bug.ts";

const REST = ["test/simulator/api/rest.test.ts"];
const API_FAULTS = ["test/simulator/api/faults.test.ts"];
const PAGING = ["test/simulator/world/paging.test.ts"];
const HAPPENINGS = ["test/simulator/world/happenings.test.ts"];
const ROUTES = ["test/simulator/control/routes.test.ts"];
const ENDPOINTS = ["test/simulator/delivery/endpoints.test.ts"];

/** Bugs in the corners of the simulated service: a boundary, a page, a guard that is lost. */
export const plantedInService: PlantedBug[] = [
  {
    what: "no item is a page, too",
    file: "simulator/api/queries.ts",
    find: "Math.max(1, limit)",
    replace: "Math.max(0, limit)",
    tests: REST,
  },
  {
    what: "faults cannot strike every request",
    file: "simulator/api/faults.ts",
    find: "value >= 0 && value <= 1",
    replace: "value >= 0 && value < 1",
    tests: API_FAULTS,
  },
  {
    what: "one call more arrives between two pages",
    file: "simulator/api/faults.ts",
    find: "arrived < plan.arrivals",
    replace: "arrived <= plan.arrivals",
    tests: API_FAULTS,
  },
  {
    what: "the last byte of a range is missing",
    file: "simulator/api/recordings.ts",
    find: "range.end + 1)",
    replace: "range.end)",
    tests: ["test/simulator/api/recordings.test.ts"],
  },
  {
    what: "there is no next page of what was stored",
    file: "simulator/domain/world/timeline.ts",
    find: "items.before({ organization, kind, facet }, place, limit + 1)",
    replace: "items.before({ organization, kind, facet }, place, limit)",
    tests: PAGING,
  },
  {
    what: "what is stored in another form stands in the list twice",
    file: "simulator/domain/world/timeline.ts",
    find: "if (!items.hidesHistoric(item.id)) yield item;",
    replace: "yield item;",
    tests: PAGING,
  },
  {
    what: "of one second, the older item comes first",
    file: "simulator/domain/world/timeline.ts",
    find: "left.seq > right.seq",
    replace: "left.seq < right.seq",
    tests: PAGING,
  },
  {
    what: "an item of the history that was deleted is still there",
    file: "simulator/domain/world/items.ts",
    find: "      forget.run(id);\n",
    replace: "",
    tests: [...PAGING, ...API_FAULTS],
  },
  {
    what: "an order happens at the first business, whatever its trade",
    file: "simulator/domain/world/choose-business.ts",
    find: "orgId === undefined ? fitting[0]",
    replace: "orgId === undefined ? businesses[0]",
    tests: HAPPENINGS,
  },
  {
    what: "a call of a minute lasts 60 s",
    file: "simulator/domain/world/event-summary.ts",
    find: "return seconds < 60",
    replace: "return seconds <= 60",
    tests: ["test/simulator/domain/event-summary.test.ts"],
  },
  {
    what: "the same call comes in again and again",
    file: "simulator/domain/traffic.ts",
    find: "      index += 1;\n",
    replace: "",
    tests: ["test/simulator/domain/traffic.test.ts"],
  },
  {
    what: "traffic of the rate before goes on",
    file: "simulator/domain/traffic.ts",
    find: "    cancel();\n    if (perMinute === 0)",
    replace: "    if (perMinute === 0)",
    tests: ["test/simulator/domain/traffic.test.ts"],
  },
  {
    what: "schedule time runs backwards with the machine's clock",
    file: "simulator/domain/clock.ts",
    find: "Math.max(0, wallMs - lastWallMs)",
    replace: "wallMs - lastWallMs",
    tests: ["test/simulator/delivery/machine-time.test.ts"],
  },
  {
    what: "time that passed under the mode before is lost",
    file: "simulator/domain/clock.ts",
    find: "      now();\n      mode = next;",
    replace: "      mode = next;",
    tests: ["test/simulator/delivery/schedule.test.ts", "test/simulator/delivery/machine-time.test.ts"],
  },
  {
    what: "an endpoint of one organization cannot be one of all again",
    file: "simulator/domain/endpoints.ts",
    find: "changes.orgId === undefined ? endpoint.orgId : changes.orgId",
    replace: "changes.orgId ?? endpoint.orgId",
    tests: [...ENDPOINTS, ...ROUTES],
  },
  {
    what: "a flag at the second failure",
    file: "simulator/domain/endpoints.ts",
    find: "row.consecutive_failures >= FAILURE_FLAG_THRESHOLD",
    replace: "row.consecutive_failures >= FAILURE_FLAG_THRESHOLD - 1",
    tests: ENDPOINTS,
  },
  {
    what: "a fault for the first n attempts is one for n - 1",
    file: "simulator/domain/faults.ts",
    find: "attempt <= (fault.attempts ?? attempt)",
    replace: "attempt < (fault.attempts ?? attempt + 1)",
    tests: ["test/simulator/library/faults.test.ts"],
  },
  {
    what: "what is sent again is wrong on the wire as before",
    file: "simulator/domain/emitter.ts",
    find: 'FAULTS[name].at === "body"),',
    replace: 'FAULTS[name].at !== "fan-out"),',
    tests: ["test/simulator/delivery/blame.test.ts"],
  },
  {
    what: "a call that ends is told twice",
    file: "simulator/domain/emitter.ts",
    find: 'happened.call !== undefined && type !== "call.completed"',
    replace: "happened.call !== undefined",
    tests: ["test/simulator/world/stories.test.ts", "test/simulator/delivery/readings.test.ts"],
  },
  {
    what: "what waits for an endpoint that was removed goes on waiting",
    file: "simulator/verbs/endpoints.ts",
    find: "      dispatcher.abandon(id);\n",
    replace: "",
    tests: ENDPOINTS,
  },
  {
    what: "that there is more to send again is not said",
    file: "simulator/verbs/deliveries.ts",
    find: "deliveries.gaveUp(MOST_RESENT + 1, endpointId)",
    replace: "deliveries.gaveUp(MOST_RESENT, endpointId)",
    tests: ["test/simulator/delivery/batches.test.ts"],
  },
  {
    what: "an endpoint's answers in the order in which lists show them",
    file: "simulator/verbs/deliveries.ts",
    find: "left.wallStartedAtMs - right.wallStartedAtMs",
    replace: "right.wallStartedAtMs - left.wallStartedAtMs",
    tests: ["test/simulator/delivery/blame.test.ts", ...ROUTES],
  },
  {
    what: "an array is the same as an object with its numbers",
    file: "simulator/domain/same-json.ts",
    find: "if (Array.isArray(left) !== Array.isArray(right)) return false;\n",
    replace: "",
    tests: ["test/simulator/domain/same-json.test.ts"],
  },
  {
    what: "of 500 events that are judged together, the last is not",
    file: "simulator/domain/verdicts.ts",
    find: "eventIds.slice(at, at + BATCH_EVENTS)",
    replace: "eventIds.slice(at, at + BATCH_EVENTS - 1)",
    tests: ["test/simulator/delivery/batches.test.ts"],
  },
];
