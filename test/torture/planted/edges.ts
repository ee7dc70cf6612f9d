import type { PlantedBug } from "./planted-bug.ts";

const ROUTES = ["test/simulator/control/routes.test.ts"];
const GUARDS = ["test/simulator/control/guards.test.ts"];
const LIBRARY = ["test/simulator/library/library.test.ts", "test/simulator/library/refusals.test.ts"];
const LOAD = ["test/simulator/load/run.test.ts", "test/simulator/load/requests.test.ts"];
const DOCTOR = ["test/simulator/signature-doctor/diagnose.test.ts"];
const SENDER = ["test/simulator/sender/stages.test.ts", "test/simulator/sender/hostile.test.ts"];

/** Bugs at the edges of the simulator: its control API, its library, its programs and its sender. */
export const plantedInEdges: PlantedBug[] = [
  {
    what: "a token in the address of a change counts",
    file: "simulator/control/guard.ts",
    find: 'request.method === "GET" && typeof fromLink',
    replace: "typeof fromLink",
    tests: GUARDS,
  },
  {
    what: "deliveries by endpoint in the column of those by type",
    file: "simulator/control/views.ts",
    find: "Object.fromEntries(deliveries.byType)",
    replace: "Object.fromEntries(deliveries.byEndpoint)",
    tests: ["test/simulator/control/search.test.ts"],
  },
  {
    what: "all that was counted was acknowledged",
    file: "simulator/control/views.ts",
    find: "    acknowledged,\n    p95_ms",
    replace: "    acknowledged: counted,\n    p95_ms",
    tests: ["test/simulator/delivery/blame.test.ts", ...ROUTES],
  },
  {
    what: "a list of deliveries is not narrowed by its verdict",
    file: "simulator/control/deliveries.ts",
    find: "state, type, verdict, text })",
    replace: "state, type, text })",
    tests: ["test/simulator/control/search.test.ts", "test/simulator/observer/watch.test.ts"],
  },
  {
    what: "the second page of the library is as long as the first",
    file: "simulator/library/deliveries.ts",
    find: "limit: limit - records.length",
    replace: "limit",
    tests: ["test/simulator/library/deliveries.test.ts"],
  },
  {
    what: "who waits for a delivery waits on after a reset",
    file: "simulator/library/deliveries.ts",
    find: 'if (entry.kind === "reset") {',
    replace: 'if (entry.kind === "reset" && id === "") {',
    tests: LIBRARY,
  },
  {
    what: "the half of a gap that holds is forgotten",
    file: "simulator/load/knee.ts",
    find: "    if (holds === true) good = rate;\n",
    replace: "    if (holds === true) bad = rate;\n",
    tests: ["test/simulator/load/knee.test.ts"],
  },
  {
    what: "requests are signed with the second of the first one",
    file: "simulator/load/requests.ts",
    find: "if (seconds !== madeAtSeconds) {",
    replace: "if (templates.length === 0) {",
    tests: LOAD,
  },
  {
    what: "a secret of a whole block is hashed first",
    file: "simulator/load/signer.ts",
    find: "bytes.byteLength > BLOCK_BYTES",
    replace: "bytes.byteLength >= BLOCK_BYTES",
    tests: LOAD,
  },
  {
    what: "any piece of the right digest is called cut off, were it one character",
    file: "simulator/signature-doctor/diagnose.ts",
    find: "text.length >= 8",
    replace: "text.length >= 1",
    tests: DOCTOR,
  },
  {
    what: "a clock of one's own is not looked for at the end of the window",
    file: "simulator/signature-doctor/diagnose.ts",
    find: "offset <= OWN_CLOCK_SECONDS",
    replace: "offset < OWN_CLOCK_SECONDS",
    tests: DOCTOR,
  },
  {
    what: "a header made with another secret is not named as the cause",
    file: "simulator/signature-doctor/diagnose.ts",
    find: "findings.unshift(OTHER_SECRET)",
    replace: "findings.push(OTHER_SECRET)",
    tests: DOCTOR,
  },
  {
    what: "one line of a talkative receiver too many is kept",
    file: "simulator/processes/output-tail.ts",
    find: "kept.length > MAXIMUM_LINES",
    replace: "kept.length > MAXIMUM_LINES + 1",
    tests: ["test/simulator/processes/output-tail.test.ts"],
  },
  {
    what: "the first script that a batch file names is started",
    file: "simulator/processes/program.ts",
    find: "scripts.at(-1)",
    replace: "scripts.at(0)",
    tests: ["test/simulator/processes/program.test.ts"],
  },
  {
    what: "a percent sign stays what it is in cmd",
    file: "simulator/shell-words.ts",
    find: `.replaceAll("%", '"^%"')`,
    replace: "",
    tests: ["test/simulator/shell-words.test.ts", "test/simulator/invocation.test.ts"],
  },
  {
    what: "the beginning of a secret at the end of a text is shown",
    file: "simulator/redact.ts",
    find: "let length = form.length - 1;",
    replace: "let length = form.length - 2;",
    tests: ["test/simulator/redact.test.ts"],
  },
  {
    what: "200 is no final status",
    file: "simulator/sender/outcome.ts",
    find: "status >= 200 ?",
    replace: "status > 200 ?",
    tests: SENDER,
  },
  {
    what: "the forbidden one of two addresses is connected to",
    file: "simulator/sender/connect.ts",
    find: "callback(null, allowed)",
    replace: "callback(null, addresses)",
    tests: SENDER,
  },
  {
    what: "the last piece of a slow body is not sent",
    file: "simulator/sender/request-bytes.ts",
    find: "if (at >= body.byteLength) return;",
    replace: "if (at + stepBytes >= body.byteLength) return;",
    tests: SENDER,
  },
  {
    what: "a stream holds the simulator open at its end",
    file: "simulator/server.ts",
    find: "          server.closeAllConnections();\n",
    replace: "",
    tests: ["test/simulator/control/stream.test.ts"],
  },
  {
    what: "a line beyond the first piece of a file has the number of one before it",
    file: "simulator/replay/sources.ts",
    find: "yield { number: number + 1, line: rest }",
    replace: "yield { number, line: rest }",
    tests: ["test/simulator/commands/replay.test.ts"],
  },
  {
    what: "of a duplicate at the same time only one is sent",
    file: "simulator/replay/direct-target.ts",
    find: 'if (faults.has("duplicate-concurrently")) await attempt(body);',
    replace: 'if (faults.has("duplicate-concurrently")) await first;',
    tests: ["test/simulator/commands/replay.test.ts"],
  },
  {
    what: "the secret signs for nobody who has rotated it",
    file: "simulator/control/signature-view.ts",
    find: "expected.some((header)",
    replace: "expected.every((header)",
    tests: ["test/simulator/delivery/rotation.test.ts", ...ROUTES],
  },
  {
    what: "a command for PowerShell names the secret as sh does",
    file: "simulator/shell-words.ts",
    find: "powershell: `$env:${name}`",
    replace: 'powershell: `"$${name}"`',
    tests: ["test/verify/words-again.test.ts"],
  },
  {
    what: "PowerShell keeps the dashes before a receiver's command to itself",
    file: "simulator/verify/verify-receiver.ts",
    find: "` ${shellDashes(shell)} ${words}`",
    replace: "` -- ${words}`",
    tests: ["test/verify/words-again.test.ts"],
  },
];
