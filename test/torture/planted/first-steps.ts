import type { PlantedBug } from "./planted-bug.ts";

const PAGE = "simulator/dashboard/public/";
const LISTENERS = ["test/simulator/processes/listeners.test.ts"];
const PROBE = ["test/simulator/processes/receiver-probe.test.ts"];
const CONTROL = ["test/simulator/control/receivers.test.ts"];
const AHEAD = ["test/simulator/domain/ahead.test.ts"];
const FIRST_RUN = ["test/dashboard/first-run.test.ts"];
const STRIP = ["test/dashboard/time-strip.test.ts"];
const DOCS = ["test/dashboard/docs.test.ts"];

/** Bugs in what offers the ports of this machine, looks ahead in schedule time, and shows the docs. */
export const plantedInFirstSteps: PlantedBug[] = [
  {
    what: "connections are taken for listeners",
    file: "simulator/processes/listener-tables.ts",
    find: 'LISTEN_STATE = "0A"',
    replace: 'LISTEN_STATE = "01"',
    tests: LISTENERS,
  },
  {
    what: "addresses are read in the wrong order of bytes",
    file: "simulator/processes/listener-tables.ts",
    find: ".toReversed());",
    replace: ");",
    tests: LISTENERS,
  },
  {
    what: "a preloaded hook is taken for the script",
    file: "simulator/processes/listener-tables.ts",
    find: ' && !PRELOADS.test(words[index - 1] ?? "")',
    replace: "",
    tests: LISTENERS,
  },
  {
    what: "our own ports are offered",
    file: "simulator/processes/listeners.ts",
    find: "pid === ownPid || ",
    replace: "",
    tests: LISTENERS,
  },
  {
    what: "who listens beyond loopback alone is offered",
    file: "simulator/processes/listeners.ts",
    find: 'address.startsWith("127.") ? address : undefined',
    replace: "address",
    tests: LISTENERS,
  },
  {
    what: "the same answer at every path is taken for a path",
    file: "simulator/processes/receiver-probe.ts",
    find: " || kind === kindOf(nowhere)",
    replace: "",
    tests: PROBE,
  },
  {
    what: "a path that breaks ends the search",
    file: "simulator/processes/receiver-probe.ts",
    find: 'if (kind !== "fails") return probe;',
    replace: "return probe;",
    tests: PROBE,
  },
  {
    what: "redirects are followed by the probe",
    file: "simulator/processes/receiver-probe.ts",
    find: 'redirect: "manual"',
    replace: 'redirect: "follow"',
    tests: PROBE,
  },
  {
    what: "a port that is not listed is probed",
    file: "simulator/verbs/receivers.ts",
    find: "known.port === port",
    replace: "known.port >= port",
    tests: CONTROL,
  },
  {
    what: "that ports cannot be seen is not told",
    file: "simulator/control/receivers.ts",
    find: "message: listed.ok ? null : listed.message",
    replace: "message: null",
    tests: CONTROL,
  },
  {
    what: "what is due at the end of the look ahead is left out",
    file: "simulator/domain/ahead.ts",
    find: "WHERE next_attempt_at <= @untilMs",
    replace: "WHERE next_attempt_at < @untilMs",
    tests: AHEAD,
  },
  {
    what: "the number of the last attempt is told for the next",
    file: "simulator/domain/ahead.ts",
    find: "number: row.attempts_made + 1",
    replace: "number: row.attempts_made",
    tests: AHEAD,
  },
  {
    what: "steps stand behind all attempts",
    file: "simulator/domain/ahead.ts",
    find: "[...waiting, ...told].toSorted((a, b) => a.dueAtMs - b.dueAtMs)",
    replace: "[...waiting, ...told]",
    tests: AHEAD,
  },
  {
    what: "moments near by are not told apart",
    file: "simulator/domain/ahead.ts",
    find: "/ 60000.0",
    replace: "/ 60000000.0",
    tests: AHEAD,
  },
  {
    what: "a story that was told changes nothing in sight",
    file: "simulator/compose.ts",
    find: '      // What is due next has changed.\n      journal.write({ kind: "clock.changed" });\n',
    replace: "",
    tests: STRIP,
  },
  {
    what: "moving over one attempt does not ask",
    file: `${PAGE}components/time-strip.js`,
    find: "if (attempts + steps > 0) setAsking(true);",
    replace: "if (attempts + steps > 1) setAsking(true);",
    tests: STRIP,
  },
  {
    what: "marks do not attract",
    file: `${PAGE}components/time-strip.js`,
    find: "const SNAP = 0.012;",
    replace: "const SNAP = 0;",
    tests: STRIP,
  },
  {
    what: "rows stay marked after one gave up moving",
    file: `${PAGE}components/time-strip.js`,
    find: "    setReach(next);\n",
    replace: "    if (next !== undefined) setReach(next);\n",
    tests: STRIP,
  },
  {
    what: "play goes on after a pause",
    file: `${PAGE}components/time-strip.js`,
    find: "if (!isCurrent) return;",
    replace: "",
    tests: STRIP,
    survives:
      "It steps to one more moment, and only when one pauses while an attempt is under way: seeing that it does not takes a second of waiting.",
  },
  {
    what: "an attempt at the very moment is not on the way",
    file: `${PAGE}core/ahead.js`,
    find: "if (Date.parse(dueAt) <= untilMs)",
    replace: "if (Date.parse(dueAt) < untilMs)",
    tests: STRIP,
  },
  {
    what: "the row whose attempt is reached is not marked",
    file: `${PAGE}components/feed-row.js`,
    find: "Date.parse(nextAt) <= live.reachMs",
    replace: "Date.parse(nextAt) < live.reachMs",
    tests: STRIP,
  },
  {
    what: "Send again leaves the first test event behind",
    file: `${PAGE}components/test-event.js`,
    find: "if (delivery?.next_attempt_at)",
    replace: "if (delivery === null)",
    tests: FIRST_RUN,
  },
  {
    what: "a test event is sent though nobody asked for it",
    file: `${PAGE}components/test-event.js`,
    find: "if (isSentAtOnce) void send();",
    replace: "void send();",
    tests: FIRST_RUN,
  },
  {
    what: "a URL that was not found is registered",
    file: `${PAGE}components/feed-empty.js`,
    find: "if (!isFound(probe)) return",
    replace: "if (isFound(probe) && false) return",
    tests: FIRST_RUN,
  },
  {
    what: "the secret stays in the page",
    file: `${PAGE}core/told-secret.js`,
    find: "export function forgetSecret() {\n  tell(undefined);",
    replace: "export function forgetSecret() {\n  tell(told);",
    tests: FIRST_RUN,
  },
  {
    what: "links to a part of the page lead nowhere",
    file: `${PAGE}core/route.js`,
    find: 'if (isHere && url.hash !== "") return;',
    replace: "",
    tests: DOCS,
  },
  {
    what: "the console forgets which endpoint was to be tried",
    file: `${PAGE}pages/console.js`,
    find: "known === asked",
    replace: "known === undefined",
    tests: DOCS,
  },
  {
    what: "the worked out signature leaves t out",
    file: `${PAGE}components/docs-signature.js`,
    find: "useDigest(secret, `${t}.${body}`)",
    replace: "useDigest(secret, body)",
    tests: DOCS,
  },
  {
    what: "dark docs are printed dark",
    file: `${PAGE}styles/tokens.css`,
    find: "/* Paper is white. */\n@media print",
    replace: "@media speech",
    tests: DOCS,
  },
  {
    what: "a page of objects is told as one object",
    file: `${PAGE}core/openapi.js`,
    find: "isPage: items !== undefined",
    replace: "isPage: false",
    tests: DOCS,
  },
];
