/** A part of the code, and the tests that run it in their own process, where single mutations can be switched on. */
export type Area = { folder: string; files: string[]; tests: string[] };

const RECEIVER = "test/receiver";

/** The files to mutate, without code that runs in its own threads or processes: no mutation can be switched on there. */
export const AREAS: readonly Area[] = [
  { folder: "shared", files: ["shared/*.ts", "!shared/samples.ts"], tests: ["test/shared/*.test.ts"] },
  {
    folder: "receiver/intake",
    // Tests of incoming bodies use sockets and take long.
    files: ["receiver/intake/*.ts", "!receiver/intake/body.ts"],
    tests: [`${RECEIVER}/intake/{adapters,group-commit,inbox,properties,webhook}.test.ts`],
  },
  { folder: "receiver/store", files: ["receiver/store/*.ts"], tests: [`${RECEIVER}/store/*.test.ts`] },
  {
    folder: "receiver/work",
    files: ["receiver/work/*.ts", "!receiver/work/process.ts"],
    tests: [`${RECEIVER}/{work,handlers}/!(process).test.ts`],
  },
  {
    folder: "receiver/operations",
    files: ["receiver/operations/*.ts", "receiver/operations/page/*.ts", "receiver/config.ts"],
    tests: [`${RECEIVER}/{config,config-files,operations/*}.test.ts`],
  },
  {
    folder: "simulator/domain",
    files: ["simulator/domain/**/*.ts", "!simulator/domain/**/schema.ts"],
    tests: [
      "test/simulator/{domain,readings,world,control}/*.test.ts",
      "test/simulator/delivery/!(kill).test.ts",
    ],
  },
];
