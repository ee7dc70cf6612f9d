import type { PlantedBug } from "./planted-bug.ts";

const RETENTION = ["test/simulator/delivery/retention.test.ts"];
const STREAM = ["test/simulator/control/stream.test.ts"];
const IDS = ["test/simulator/delivery/ids.test.ts", "test/simulator/control/routes.test.ts"];
const SCHEDULE = ["test/simulator/delivery/schedule.test.ts", "test/simulator/control/routes.test.ts"];
const SCENARIOS = ["test/simulator/borders/control.test.ts", "test/simulator/world/stories.test.ts"];
const OBSERVER = ["test/simulator/observer/observer.test.ts"];
const WATCH = ["test/simulator/observer/watch.test.ts"];

/** Bugs in what keeps a simulator right that runs for days: what goes first, who is dropped, which moment is meant. */
export const plantedInSteady: PlantedBug[] = [
  {
    what: "of the dead ones, the newest go first",
    file: "simulator/domain/retention.ts",
    find: "WHERE state = 'dead' ORDER BY seq LIMIT @limit",
    replace: "WHERE state = 'dead' ORDER BY seq DESC LIMIT @limit",
    tests: RETENTION,
  },
  {
    what: "what waits goes along where there are fewer finished ones than are to go",
    file: "simulator/domain/retention.ts",
    find: "if (going.length === 0 && (isUrgent",
    replace: "if (going.length < limit && (isUrgent",
    tests: RETENTION,
  },
  {
    what: "an event that nobody wanted goes at once",
    file: "simulator/domain/retention.ts",
    find: "(lastEventSeq.get() ?? 0) - bounds.deliveries",
    replace: "(lastEventSeq.get() ?? 0)",
    tests: RETENTION,
  },
  {
    what: "the stream of a client that was dropped goes on",
    file: "simulator/control/stream.ts",
    find: "      response.end();\n",
    replace: "",
    tests: STREAM,
  },
  {
    what: "every client is told what the first message was",
    file: "simulator/control/stream.ts",
    find: "if (newest?.entry !== entry)",
    replace: "if (newest === undefined)",
    tests: STREAM,
  },
  {
    what: "an id of the stream that is no number is one",
    file: "simulator/control/stream.ts",
    find: 'session.lastId === "" || !Number.isSafeInteger(lastId)',
    replace: 'session.lastId === ""',
    tests: STREAM,
  },
  {
    what: "only the first of several replayed events has a new id",
    file: "simulator/domain/emitter.ts",
    find: "settings.newIds ? events.newId()",
    replace: "settings.newIds && emitted.length === 0 ? events.newId()",
    tests: IDS,
  },
  {
    what: "replays have new ids though nobody asked for them",
    file: "simulator/control/events.ts",
    find: "new_ids: z.boolean().default(false)",
    replace: "new_ids: z.boolean().default(true)",
    tests: IDS,
  },
  {
    what: "new ids that were asked for are not given",
    file: "simulator/verbs/events.ts",
    find: "{ ...settings, to }",
    replace: "{ ...settings, newIds: false, to }",
    tests: [...IDS, "test/simulator/commands/replay.test.ts"],
  },
  {
    what: "a clock that is on its way is taken for one that stands",
    file: "simulator/domain/advance.ts",
    find: "isUnderWay: () => walks > 0",
    replace: "isUnderWay: () => walks > 1",
    tests: SCHEDULE,
  },
  {
    what: "the next due time is not moved to",
    file: "simulator/domain/advance.ts",
    find: "walkTo(Math.max(nextMs, clock.now()))",
    replace: "walkTo(clock.now())",
    tests: SCHEDULE,
  },
  {
    what: "after a move to the next due time, the clock is moved from where it was before",
    file: "simulator/domain/advance.ts",
    find: "furthestMs = Math.max(clock.now(), furthestMs) + seconds",
    replace: "furthestMs = (furthestMs || clock.now()) + seconds",
    tests: SCHEDULE,
  },
  {
    what: "a step of a story that is repeated counts once",
    file: "simulator/domain/world/scenario.ts",
    find: "(sum, { times }) => sum + times, 0)",
    replace: "(sum, { times }) => sum + Math.min(times, 1), 0)",
    tests: SCENARIOS,
  },
  {
    what: "steps that lie ahead already are not counted",
    file: "simulator/domain/stories.ts",
    find: "agenda.count() + story.steps.length",
    replace: "story.steps.length",
    tests: SCENARIOS,
  },
  {
    what: "where there are as many scenarios as there may be, none can be changed",
    file: "simulator/domain/stories.ts",
    find: "known.size >= MOST_SCENARIOS && !known.has(scenario.name)",
    replace: "known.size >= MOST_SCENARIOS",
    tests: SCENARIOS,
  },
  {
    what: "a byte too many of what a receiver tells is read",
    file: "simulator/observer/observer.ts",
    find: "if (bytes > MOST_BYTES)",
    replace: "if (bytes > MOST_BYTES + 1)",
    tests: OBSERVER,
  },
  {
    what: "an observer that fails says that nothing was handled",
    file: "simulator/observer/observer.ts",
    find: "if (status === 404)",
    replace: "if (status >= 400)",
    tests: OBSERVER,
  },
  {
    what: "a redirect of the observer is an answer",
    file: "simulator/observer/observer.ts",
    find: "if (status !== 200)",
    replace: "if (status >= 400)",
    tests: OBSERVER,
  },
  {
    what: "what was not handled so far is given up after three seconds",
    file: "simulator/observer/watch.ts",
    find: "(handled > 0 && (LOOKS_MS[one.look] ?? 0) >= LATE_ENOUGH_MS)",
    replace: "(LOOKS_MS[one.look] ?? 0) >= LATE_ENOUGH_MS",
    tests: WATCH,
  },
  {
    what: "a receiver that refused the connection is asked what it did",
    file: "simulator/observer/watch.ts",
    find: 'attempt.error !== "dns" && attempt.error !== "refused"',
    replace: 'attempt.error !== "dns"',
    tests: WATCH,
  },
  {
    what: "the last look at what a receiver did is left out",
    file: "simulator/observer/watch.ts",
    find: "one.look === LOOKS_MS.length - 1",
    replace: "one.look === LOOKS_MS.length - 2",
    tests: WATCH,
  },
];
