import type { Run } from "./run.ts";

/** Every attack on a border, against started programs and at full size; `npm run torture -- --borders` plays these alone. */
export const runs: Run[] = [
  {
    name: "borders of the receiver",
    minutes: 2,
    files: ["test/borders/receiver.test.ts"],
    // 4,000 connections are as many as one address of the network may try at once on a usual machine.
    environment: () => ({ BORDERS: "20" }),
  },
  {
    name: "borders of the simulator",
    minutes: 2,
    files: ["test/borders/simulator.test.ts"],
    environment: () => ({ BORDERS: "20" }),
  },
  {
    name: "borders of verify, the REST client and addresses",
    minutes: 2,
    files: [
      "test/verify/hostile-receivers.test.ts",
      "test/receiver/rest-client.test.ts",
      "test/simulator/domain/address.test.ts",
      "test/simulator/commands/hostile-simulator.test.ts",
      "test/receiver/hostile-words.test.ts",
    ],
  },
];
