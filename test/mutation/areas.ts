/** A part of the code, and the tests that run it in their own process, where a changed piece of it can be switched on. */
export type Area = { folder: string; files: string[]; tests: string[] };

const RECEIVER = "test/receiver";

/** What is changed. Left out is what runs in threads and processes of its own, where no change can be switched on. */
export const AREAS: readonly Area[] = [
  {
    folder: "shared",
    files: ["shared/*.ts", "!shared/node-version.ts", "!shared/samples.ts"],
    tests: ["test/shared/*.test.ts"],
  },
  {
    folder: "receiver/intake",
    // How a body arrives is tried over sockets, which takes long.
    files: ["receiver/intake/*.ts", "!receiver/intake/body.ts"],
    tests: ["adapters", "group-commit", "mounted/unwrap", "properties", "webhook"].map(
      (name) => `${RECEIVER}/${name}.test.ts`,
    ),
  },
  {
    folder: "receiver/work",
    files: ["backoff", "event-schema", "handler", "handling", "loop", "policies", "steps", "supervisor"].map(
      (name) => `receiver/work/${name}.ts`,
    ),
    tests: [
      "backoff",
      "handled-lines",
      "handler-bench",
      "handling",
      "policies",
      "supervisor",
      "handlers/*",
    ].map((name) => `${RECEIVER}/${name}.test.ts`),
  },
  {
    folder: "receiver/operations",
    files: [
      "receiver/operations/*.ts",
      "receiver/operations/page/*.ts",
      "receiver/config*.ts",
      "!receiver/operations/page/style.ts",
    ],
    tests: [
      "admin",
      "config",
      "doctor",
      "fields",
      "handled-lines",
      "health",
      "log",
      "metrics",
      "operator-page",
      "operator-words",
      "privacy",
      "private-files",
      "reconcile",
      "request-log",
      "rest-client",
      "secrets",
      "unhealable",
      "words-of-sets",
    ].map((name) => `${RECEIVER}/${name}.test.ts`),
  },
  {
    folder: "receiver/engines",
    files: ["receiver/engines/{ending,event-state,handler-query}.ts"],
    tests: [`${RECEIVER}/engines/{ending,event-state,handler-query}.test.ts`],
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
