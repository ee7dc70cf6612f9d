import type { PlantedBug } from "./planted-bug.ts";

/** In verify's own checks, the rounds of kills and the search for schedules. */
export const plantedInChecks: PlantedBug[] = [
  {
    what: "a burst is judged by whether anything was acknowledged",
    file: "simulator/verify/checks/load.ts",
    find: "      const sent = burst(event, timing).map((envelope) => attempts({ deliver, timing }, envelope));\n      return every(...(await Promise.all(sent)).map(taken));",
    replace:
      "      const sent = burst(event, timing).map((envelope) => attempts({ deliver, timing }, envelope));\n      return every(...(await Promise.all(sent)).slice(0, 1).map(taken));",
    tests: ["test/mutants/delivery.test.ts"],
  },
  {
    what: "forgeries that are taken under load don't matter",
    file: "simulator/verify/checks/load.ts",
    find: "every(...honest.map(taken), noneAcknowledged(await Promise.all(forged)))",
    replace: "every(...honest.map(taken))",
    tests: ["test/mutants/signature.test.ts"],
  },
  {
    what: "an event in sequence is judged after its first arrival",
    file: "simulator/verify/attempts.ts",
    find: "attempt <= MAXIMUM_ATTEMPTS; attempt += 1",
    replace: "attempt <= 1; attempt += 1",
    tests: ["test/mutants/delivery.test.ts"],
  },
  {
    what: "a duplicate after many others comes before them",
    file: "simulator/verify/checks/effects-once.ts",
    find: "        await sendOthers(context, timing.manyOthers);\n",
    replace: "",
    tests: ["test/mutants/delivery.test.ts"],
  },
  {
    what: "two events of one object are judged by the first",
    file: "simulator/verify/checks/effects-once.ts",
    find: "every(handledTimes(handled, after, ONCE), handledTimes(",
    replace: "every(handledTimes(handled, after, AT_MOST_ONCE), handledTimes(",
    tests: ["test/mutants/delivery.test.ts"],
  },
  {
    what: "advice that fails a run under --fail-on is passed over",
    file: "simulator/verify/report.ts",
    find: "counts.failed > 0 || failOn.some((standing) => counts[standing] > 0)",
    replace: "counts.failed > 0 || failOn.every((standing) => counts[standing] > 1)",
    tests: ["test/verify/judge.test.ts", "test/verify/command.test.ts", "test/verify/reports.test.ts"],
  },
  {
    what: "what a receiver said of its secret stands in the report",
    file: "simulator/verify/report.ts",
    find: "redact.text(explanation)",
    replace: "explanation",
    tests: ["test/verify/judge.test.ts"],
  },
  {
    what: "a run that was not finished exits as passed",
    file: "simulator/verify/report.ts",
    find: "incomplete: 3 }",
    replace: "incomplete: 0 }",
    tests: ["test/verify/ending.test.ts"],
  },
  {
    what: "an event that was acknowledged before a kill may be handled twice",
    file: "simulator/verify/checks/crash.ts",
    find: "({ duplicate }, handled) => once(duplicate, handled),",
    replace: "({ last }, handled) => once(last, handled),",
    tests: ["test/mutants/crash.test.ts"],
  },
  {
    what: "the burst round kills after everything was answered",
    file: "simulator/verify/kill-rounds.ts",
    find: "answers: Math.ceil(timing.burst / 3), delayMs: 0.1",
    replace: "answers: timing.burst, delayMs: 0.1",
    tests: ["test/mutants/crash.test.ts"],
  },
  {
    what: "a schedule's lost answer is told to the service",
    file: "simulator/verify/explore/fault-proxy.ts",
    find: 'if (fate === "late 2xx") return void response.destroy();',
    replace: "",
    tests: ["test/verify/schedules.test.ts"],
  },
  {
    what: "a simpler schedule loses only its last step",
    file: "simulator/verify/explore/schedule.ts",
    find: "schedule.toSpliced(index, 1)",
    replace: "schedule.slice(0, -1)",
    tests: ["test/verify/schedules.test.ts"],
  },
  {
    what: "a shorter schedule is described without its last success",
    file: "simulator/verify/explore/schedule.ts",
    find: "succeeds || schedule.length === MAXIMUM_ATTEMPTS ? []",
    replace: "true ? []",
    tests: ["test/verify/schedules.test.ts"],
  },
  {
    what: "a copy's refusal in a schedule is forgotten",
    file: "simulator/verify/explore/player.ts",
    find: "refusal ??= `A copy of event ${envelope.id} was not acknowledged: ${ending(exchange)}.`;",
    replace: "refusal ??= undefined;",
    tests: ["test/verify/explore.test.ts"],
  },
];
