import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in `simulator/`, but for what has a list of its own. */
export const plantedInSimulator: PlantedBug[] = [
  {
    what: "a rotated secret stops at once in the library",
    file: "simulator/library/endpoints.ts",
    find: "secondsFrom(overlap) * 1000",
    replace: "secondsFrom(overlap)",
    tests: ["test/simulator/library/library.test.ts"],
  },
  {
    what: "the headers of one answer are those of the one before",
    file: "simulator/sender/answer.ts",
    find: "if (last?.head !== head)",
    replace: "if (last === undefined)",
    tests: ["test/simulator/sender/hostile.test.ts"],
  },
  {
    what: "a stream that has gone keeps its place",
    file: "simulator/control/stream.ts",
    find: "(streams -= 1)",
    replace: "streams",
    tests: ["test/simulator/borders/control.test.ts"],
  },
  {
    what: "a quote behind a backslash ends a text",
    file: "simulator/json-shape.ts",
    find: "if (byte === BACKSLASH) at += 1;",
    replace: "if (byte === BACKSLASH) at += 0;",
    tests: ["test/simulator/borders/control.test.ts"],
  },
  {
    what: "the state of a replay follows a link",
    file: "simulator/replay/state-file.ts",
    find: "O_RDONLY | NO_LINK",
    replace: "O_RDONLY",
    tests: ["test/simulator/borders/files.test.ts"],
  },
  {
    what: "one failure of a replay is none",
    file: "simulator/commands/replay.ts",
    find: "report.failed() > 0",
    replace: "report.failed() > 1",
    tests: ["test/simulator/commands/replay.test.ts"],
  },
  {
    what: "a redirect acknowledges, for load",
    file: "simulator/load/run.ts",
    find: "ending <= 299",
    replace: "ending <= 399",
    tests: ["test/simulator/load/run.test.ts"],
  },
  {
    what: "load owes one duplicate more before it sends it",
    file: "simulator/load/run.ts",
    find: "owedDuplicates < 1 ||",
    replace: "owedDuplicates < 2 ||",
    tests: ["test/simulator/load/run.test.ts"],
  },
  {
    what: "a byte more of an answer is kept",
    file: "simulator/sender/answer.ts",
    find: "16 * 1024",
    replace: "16 * 1024 + 1",
    tests: ["test/simulator/sender/stages.test.ts", "test/simulator/sender/hostile.test.ts"],
  },
];
