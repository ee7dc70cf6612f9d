import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in `receiver/` and `shared/`. */
export const plantedInReceiver: PlantedBug[] = [
  {
    what: "a work file is judged by what the inbox held before it was opened",
    file: "receiver/engines/sqlite/work-file.ts",
    find: "position.seq > (findLastSeq.get() ?? 0)",
    replace: "position.seq > lastSeq",
    tests: ["test/receiver/engines/work-file.test.ts"],
  },
];
