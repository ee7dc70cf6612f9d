import type { PlantedBug } from "./planted-bug.ts";

const PAGES = ["test/docs/pages.test.ts"];
const SNIPPETS = ["test/docs/snippets.test.ts"];
const OUTPUTS = ["test/docs/outputs.test.ts"];
const PRODUCTION = ["test/docs/production.test.ts"];
const PACKAGING = ["test/docs/packaging.test.ts"];
const CI = ["test/docs/ci.test.ts"];
const HEALTH = ["test/e2e/image.test.ts"];

/** Mistakes in the documentation, in how we are packaged, and in what the documentation speaks of. */
export const plantedInDocs: PlantedBug[] = [
  {
    what: "an option that a page shows has another name",
    file: "docs/symptoms.md",
    find: "--secret whsec_… --knee",
    replace: "--secret whsec_… --knees",
    tests: SNIPPETS,
  },
  {
    what: "a command was renamed, and the pages were not",
    file: "simulator/commands/catalogue.ts",
    find: 'name: "explain"',
    replace: 'name: "why"',
    tests: SNIPPETS,
  },
  {
    what: "an option of the receiver was renamed, and the pages were not",
    file: "receiver/program.ts",
    find: '"--dry-run"',
    replace: '"--try"',
    tests: SNIPPETS,
  },
  {
    what: "a workflow that a page shows gives the action what it does not take",
    file: "docs/testing-in-ci.md",
    find: 'fail-on-unverified: "true"',
    replace: 'fail-on-advice: "true"',
    tests: SNIPPETS,
  },
  {
    what: "a link names a heading that is not there",
    file: "docs/symptoms.md",
    find: "handlers.md#what-it-gets",
    replace: "handlers.md#what-it-takes",
    tests: PAGES,
  },
  {
    what: "a page is not linked from the start page",
    file: "docs/README.md",
    find: "[production.md](production.md)",
    replace: "[operations.md](operations.md)",
    tests: PAGES,
  },
  {
    what: "a rule cites a part that no page has",
    file: "docs/service.md",
    find: "## What may change",
    replace: "## What changes",
    tests: PAGES,
  },
  {
    what: "the pauses of a delivery are drawn wrongly",
    file: "docs/architecture.md",
    find: "30 min, 2 h, 12 h",
    replace: "30 min, 2 h, 24 h",
    tests: PAGES,
  },
  {
    what: "the README shows more checks than there are",
    file: "README.md",
    find: "✓ duplicates       6 passed",
    replace: "✓ duplicates       7 passed",
    tests: OUTPUTS,
  },
  {
    what: "systemd starts a receiver again and again whose settings are wrong",
    file: "receiver/operations/voice-agent-receiver.service",
    find: "RestartPreventExitStatus=2",
    replace: "RestartPreventExitStatus=78",
    tests: PRODUCTION,
  },
  {
    what: "the drill of a rotation restarts with the old secret alone",
    file: "docs/production.md",
    find: "SIGNING_SECRET=whsec_the_new_one,whsec_the_old_one npm run receiver",
    replace: "SIGNING_SECRET=whsec_the_old_one npm run receiver",
    tests: PRODUCTION,
  },
  {
    what: "the simulator beside a stack delivers to another path",
    file: "examples/beside/compose.yaml",
    find: "--forward-to=http://app:3000/webhooks",
    replace: "--forward-to=http://app:3000/hooks",
    tests: PACKAGING,
  },
  {
    what: "a fork's image keeps its events beside the volume",
    file: "tools/fork/template/Dockerfile.template",
    find: "sqlite:/data/receiver.db",
    replace: "sqlite:data/receiver.db",
    tests: PACKAGING,
  },
  {
    what: "the action forgets the baseline",
    file: "action.yml",
    find: 'options+=(--baseline "$BASELINE")',
    replace: "options+=()",
    tests: CI,
  },
  {
    what: "the action writes no summary",
    file: "action.yml",
    find: '>> "$GITHUB_STEP_SUMMARY"',
    replace: "> /dev/null",
    tests: CI,
  },
  {
    what: "an older Node.js fails on a name that it lacks, before it is told to be too old",
    file: "simulator/main.ts",
    find: 'import module from "node:module";',
    replace: 'import module, { enableCompileCache } from "node:module";\nvoid enableCompileCache;',
    tests: ["test/repository/repository.test.ts"],
  },
  {
    what: "the health check of a worker asks the port of webhooks",
    file: "receiver/operations/commands/health.ts",
    find: 'role === "worker"',
    replace: 'role === "ingest"',
    tests: HEALTH,
  },
  {
    what: "the health check takes every answer for readiness",
    file: "receiver/operations/commands/health.ts",
    find: "if (answer.ok) {",
    replace: "if (answer.body !== null) {",
    tests: HEALTH,
  },
  {
    what: "the health check of the simulator takes any server for one",
    file: "simulator/commands/health.ts",
    find: "return ok;",
    replace: "return true;",
    tests: HEALTH,
  },
];
