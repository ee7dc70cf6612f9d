import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { mutant, type Mutation } from "../../helpers/mutant.ts";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";

/** That the simulation of deliveries can fail: bugs in copies of the source, each with the promise that it breaks. */

const DISPATCHER = "simulator/domain/dispatcher.ts";
const FLIGHTS = "simulator/domain/flights.ts";
const SETTLEMENT = "simulator/domain/settlement.ts";
const REQUEST = "simulator/domain/attempt-request.ts";

const BUGS: [string, string, Mutation[]][] = [
  [
    "a seventh attempt",
    "S1|S2",
    [
      { file: "shared/retry-policy.ts", find: "7_200, 43_200]", replace: "7_200, 43_200, 60]" },
      {
        file: "simulator/domain/schema.ts",
        find: "number BETWEEN 1 AND 6",
        replace: "number BETWEEN 1 AND 7",
      },
      // The simulation has a schedule of its own to compare with; here it must notice by what is on the wire.
      {
        file: "test/simulator/simulation/invariants.ts",
        find: "RETRY_DELAYS_SECONDS.slice(1)",
        replace: "DELAYS_SECONDS",
      },
    ],
  ],
  [
    "a silent second try below the schedule",
    "S1",
    [
      {
        file: FLIGHTS,
        find: "const { outcome, durationMs, answer } = await options.send(request);",
        replace: `const first = await options.send(request);
          const { outcome, durationMs, answer } = "error" in first.outcome ? await options.send(request) : first;`,
      },
    ],
  ],
  [
    "an attempt that is recorded after it was sent",
    "S1",
    [
      {
        file: FLIGHTS,
        find: "    deliveries.take(delivery);\n    const row = attempts.open(",
        replace:
          "    deliveries.take(delivery);\n    const row = 0; setImmediate((...open: Parameters<typeof attempts.open>) => attempts.open(...open), ",
      },
    ],
  ],
  [
    "open attempts that nobody counts after a crash",
    "S1|S5|S6|without an end",
    [
      {
        file: DISPATCHER,
        find: "transaction(() => settleInterrupted({",
        replace: "void (() => settleInterrupted({",
      },
    ],
  ],
  [
    "open attempts that are made again after a crash",
    "S1|S2|S6",
    [
      {
        file: SETTLEMENT,
        find: "settle({ delivery, number, startedAtMs, endedAtMs, outcome });\n  }",
        replace: "deliveries.postpone(delivery, nowMs);\n  }",
      },
    ],
  ],
  ["jitter", "S2", [{ file: SETTLEMENT, find: "delaySeconds * 1000", replace: "delaySeconds * 1000 + 1" }]],
  [
    "a delay that counts from the start",
    "S2",
    [{ file: SETTLEMENT, find: '=== "attempt_start" ?', replace: '!== "attempt_start" ?' }],
  ],
  [
    "t of schedule time",
    "S4",
    [{ file: FLIGHTS, find: "number, wallNowMs, faults", replace: "number, wallNowMs: startedAtMs, faults" }],
  ],
  [
    "a body that is written anew on retries",
    "S4",
    [{ file: REQUEST, find: 'readings.retry_body === "reserialized" && ', replace: "" }],
  ],
  [
    "a new event id on retries",
    "S4",
    [
      {
        file: REQUEST,
        find: "isReserialized ? reserialize(options.body) : options.body",
        replace:
          'options.number > 1 ? Buffer.from(options.body.toString().replace("evt_", "evt_f")) : options.body',
      },
    ],
  ],
  [
    "a redirect that counts as success",
    "S3|S5",
    [{ file: "simulator/domain/judgement.ts", find: "status <= 299", replace: "status <= 399" }],
  ],
  [
    "a flag that a success does not lower",
    "S5",
    [{ file: SETTLEMENT, find: "endpoints.countSuccess(endpointId);", replace: "" }],
  ],
  [
    "a delivery that dies early",
    "S5",
    [
      {
        file: SETTLEMENT,
        find: "if (delaySeconds === undefined || ",
        replace: "if (number === 5 || delaySeconds === undefined || ",
      },
    ],
  ],
  [
    "schedule time that follows the wall backwards",
    "backwards",
    [
      {
        file: "simulator/domain/clock.ts",
        find: "Math.max(0, wallMs - lastWallMs)",
        replace: "wallMs - lastWallMs",
      },
    ],
  ],
];

test("the simulation finds each planted bug, and by the promise that it breaks", async () => {
  const folders = BUGS.map(([, , mutations]) => mutant(mutations));
  // One process for all: to start one takes longer than to find a bug.
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...RUN_TYPESCRIPT,
    "test/simulator/simulation/mutants.ts",
    ...folders,
  ]);
  const found = stdout.split("\n");
  for (const [index, [bug, promise]] of BUGS.entries()) {
    expect.soft(found[index], bug).toMatch(new RegExp(`^Seed \\d+: .*(?:${promise})`));
  }
});
