import type { Run } from "./run.ts";

/** Every attack on a border, against started programs and at full size; `npm run torture -- --borders` plays these alone. */
export const runs: Run[] = [
  {
    name: "borders of the receiver",
    minutes: 1,
    pace: "fixed",
    files: ["test/borders/receiver.slow.test.ts"],
    // Twenty times what npm test plays: 4,000 connections at once, for instance, or as many as the system lets us open.
    environment: () => ({ BORDERS: "20" }),
  },
  {
    name: "borders of the simulator",
    minutes: 1,
    pace: "fixed",
    files: ["test/borders/simulator.slow.test.ts"],
    environment: () => ({ BORDERS: "20" }),
  },
  {
    name: "borders of each wire: broken after every byte",
    minutes: 1.5,
    pace: "fixed",
    files: ["test/borders/every-byte.slow.test.ts"],
    environment: () => ({ BORDERS: "20" }),
  },
  {
    name: "borders of an attempt: its deadline",
    minutes: 1,
    pace: "alone",
    script: "test/torture/deadlines.ts",
  },
  {
    name: "borders of an attempt: its turns",
    minutes: 1,
    pace: "alone",
    files: ["test/simulator/sender/flood.slow.test.ts"],
    environment: () => ({ FLOOD_TURNS: "measured" }),
  },
  {
    name: "borders of verify, the REST client and addresses",
    minutes: 0.5,
    pace: "fixed",
    files: [
      "test/verify/hostile-receivers.test.ts",
      "test/receiver/rest-client.test.ts",
      "test/simulator/domain/address.test.ts",
      "test/simulator/commands/hostile-simulator.test.ts",
      "test/receiver/hostile-words.test.ts",
    ],
  },
];
