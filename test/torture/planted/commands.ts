import type { PlantedBug } from "./planted-bug.ts";

const DASHBOARD = ["test/simulator/commands/dashboard-commands.test.ts"];
const OFFLINE = ["test/simulator/commands/offline-commands.test.ts"];
// The table stands beside the test: when it changes, they are tried again.
const USAGES = ["test/usage/wrong-usages.test.ts", "test/usage/simulator-usages.ts"];
const HISTORY = ["test/fork/history.test.ts"];
const FORK = ["test/fork/fork.test.ts"];

/** Bugs in what the commands say and take, and in what makes a fork. */
export const plantedInCommands: PlantedBug[] = [
  {
    what: "the list of deliveries points to one that went well",
    file: "simulator/commands/deliveries.ts",
    find: "verdict.why !== null);",
    replace: "verdict.why === null);",
    tests: DASHBOARD,
  },
  {
    what: "a delivery is shown without the address that it goes to",
    file: "simulator/commands/deliveries.ts",
    find: 'endpoint?.url ?? "deleted"',
    replace: 'endpoint?.id ?? "deleted"',
    tests: ["test/docs/symptoms.test.ts"],
  },
  {
    what: "a filter that nothing matches is told as if there were no delivery at all",
    file: "simulator/commands/deliveries.ts",
    find: "if (list.data.length === 0 && isAsked) {",
    replace: "if (list.data.length < 0 && isAsked) {",
    tests: USAGES,
  },
  {
    what: "the first of the redirects is none",
    file: "simulator/domain/verdict.ts",
    find: "httpStatus >= 300 && httpStatus <= 399",
    replace: "httpStatus > 300 && httpStatus <= 399",
    tests: ["test/simulator/domain/verdict.test.ts"],
  },
  {
    what: "one of several that refuse at every path is sent webhooks",
    file: "simulator/processes/receiver-search.ts",
    find: "refusing.length === 1",
    replace: "refusing.length >= 1",
    tests: ["test/simulator/processes/receiver-search.test.ts"],
  },
  {
    what: "a page for everything is taken for a receiver",
    file: "simulator/processes/receiver-search.ts",
    find: "status >= 400",
    replace: "status >= 200",
    tests: ["test/simulator/processes/receiver-search.test.ts"],
  },
  {
    what: "a hint names a packed file as npx would run it, not install it",
    file: "simulator/invocation.ts",
    find: "? `file:${given}` : given",
    replace: "? given : given",
    tests: ["test/simulator/invocation.test.ts"],
  },
  {
    what: "an assistant follows no link to a part of a page",
    file: "simulator/mcp/docs.ts",
    find: '.replace(/#.*$/, "")',
    replace: '.replace(/#$/, "")',
    tests: ["test/simulator/mcp/mcp.test.ts"],
  },
  {
    what: "mcp begins without an address that it could ask",
    file: "simulator/commands/mcp.ts",
    find: 'simulatorUrl(flags.simulator, "/");',
    replace: "",
    tests: USAGES,
  },
  {
    what: "a rate of none is taken",
    file: "simulator/commands/option-values.ts",
    find: "value > 0 && value <= 100_000",
    replace: "value >= 0 && value <= 100_000",
    tests: USAGES,
  },
  {
    what: "a line break that an editor of Windows put behind a secret belongs to it",
    file: "simulator/commands/secret-option.ts",
    find: '.replace(/\\r?\\n$/, "")',
    replace: '.replace(/\\n$/, "")',
    tests: OFFLINE,
  },
  {
    what: "of two bodies one is signed",
    file: "simulator/commands/body-input.ts",
    find: "if (file === undefined) return { bytes: Buffer.from(text)",
    replace: "if (text !== file) return { bytes: Buffer.from(text)",
    tests: USAGES,
  },
  {
    what: "what is to be signed at the first second is signed now",
    file: "simulator/commands/sign.ts",
    find: "flags.timestamp ?? Math",
    replace: "flags.timestamp || Math",
    tests: OFFLINE,
  },
  {
    what: "another machine is asked what was done, without its owner's word",
    file: "simulator/commands/verify-target.ts",
    find: "[receiver.url, given.observe]",
    replace: "[receiver.url, receiver.url]",
    tests: USAGES,
  },
  {
    what: "a replay to nobody is said to be under way",
    file: "simulator/commands/replay-targets.ts",
    find: "deliveries === 0",
    replace: "deliveries < 0",
    tests: ["test/simulator/commands/replay.test.ts"],
  },
  {
    what: "doctor finds this version's own data file too new",
    file: "simulator/commands/doctor.ts",
    find: "version > NEWEST_VERSION",
    replace: "version >= NEWEST_VERSION",
    tests: OFFLINE,
  },
  {
    what: "a live line leaves out when the next attempt is due",
    file: "simulator/commands/live-log.ts",
    find: 'if (delivery.nextAttemptAtMs === null) return "";',
    replace: 'if (delivery.nextAttemptAtMs !== null) return "";',
    tests: ["test/simulator/commands/dev.test.ts", "test/simulator/commands/serve.test.ts"],
  },
  {
    what: "doctor fails for a warning",
    file: "receiver/operations/commands/doctor.ts",
    find: 'findings.some(({ level }) => level === "problem")',
    replace: 'findings.some(({ level }) => level !== "ok")',
    tests: ["test/receiver/no-folders.test.ts"],
  },
  {
    what: "recover does the other of the two",
    file: "receiver/operations/commands/recover.ts",
    find: 'options.handleAgain === true ? "handle-again" : "consider-handled"',
    replace: 'options.handleAgain !== true ? "handle-again" : "consider-handled"',
    tests: ["test/receiver/recover.test.ts"],
  },
  {
    what: "a reconcile that broke off looks finished to cron",
    file: "receiver/operations/commands/reconcile.ts",
    find: "return report.finished ? 0 : 1;",
    replace: "return report.finished ? 0 : 0;",
    tests: ["test/receiver/commands.test.ts"],
  },
  {
    what: "a fork lacks the package that it loads later",
    file: "tools/fork/imports.ts",
    find: "named ?? bare ?? dynamic ??",
    replace: "named ?? bare ??",
    tests: FORK,
  },
  {
    what: "a folder that a fork has is no place for a link",
    file: "tools/fork/files.ts",
    find: 'paths.some((one) => one === file || one.startsWith(`${file.replace(/\\/$/, "")}/`))',
    replace: "paths.some((one) => one === file)",
    tests: FORK,
  },
  {
    what: "a fork made from a hook goes into the repository of the hook",
    file: "tools/fork/history.ts",
    find: '!name.startsWith("GIT_")',
    replace: '!name.startsWith("GIT__")',
    tests: HISTORY,
  },
  {
    what: "the same version once more is a new commit",
    file: "tools/fork/history.ts",
    find: ".trim() === tree) return false;",
    replace: ".trim() === before) return false;",
    tests: HISTORY,
  },
  {
    what: "a fork is made beside the kit, wherever it was asked for",
    file: "tools/fork.ts",
    find: 'process.env["INIT_CWD"] ?? "."',
    replace: '"."',
    tests: ["test/usage/tool-usages.test.ts"],
  },
];
