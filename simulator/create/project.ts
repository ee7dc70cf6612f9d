import { readFileSync } from "node:fs";
import { z } from "zod";
import { KINDS, type Kind, type KindName } from "./kinds.ts";

const manifestSchema = z.looseObject({
  version: z.string(),
  engines: z.object({ node: z.string() }),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

export type MadeFile = { text: string; executable?: boolean };

export type Sources = { examples: URL; manifest: URL };

const NODE = "24.21.0";
/** npm puts this `node` first in the PATH of the project's scripts. */
const NODES = Object.fromEntries(
  ["linux-arm64", "linux-x64", "win-x64"].map((machine) => [`node-${machine}`, NODE]),
);
/** The same for programs run by npx, if the machine's own is too old. */
const BRING_NODE = `node=$(node -p 'parseInt(process.versions.node) < 23 ? \`--package=node-\${process.platform}-\${process.arch}@${NODE}\` : ""')`;

/** At PORT, or 3000. With the path that reports what was handled: without it, a receiver that loses events would pass. */
const WHERE = "--url /webhooks --observe /handled/{id}";
const VERIFY = `verify --level must ${WHERE} --fail-on unverified`;

/** Every file of a project of that kind, by its path; `secret` goes into its `.env`, which is not committed. */
export function projectFiles(
  name: KindName,
  options: { project: string; secret: string; sources: Sources; nodeIsTooOld?: boolean },
): Map<string, MadeFile> {
  const { project, secret, sources } = options;
  const kind: Kind = KINDS[name];
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(sources.manifest, "utf8")));
  const archive = archiveName(manifest.version);
  const files = new Map<string, MadeFile>();
  for (const [path, example] of Object.entries(kind.files)) {
    files.set(path, { text: readFileSync(new URL(example, sources.examples), "utf8") });
  }
  if (kind.node === undefined) {
    files.set("start", script(`PORT="\${PORT:-3000}"\nexec ${kind.start}`));
    files.set("dev", script(`${BRING_NODE}\nexec ${npx(archive)} dev ${WHERE} "$@" -- ${kind.start}`));
    files.set("verify", script(`${BRING_NODE}\nexec ${npx(archive)} ${VERIFY} "$@" -- ${kind.start}`));
  } else {
    const { packages, dev, build } = kind.node;
    const versions = { ...manifest.devDependencies, ...manifest.dependencies };
    const wanted = Object.entries(packages).map(([one, version]): [string, string] => [
      one,
      version ?? versions[one] ?? "*",
    ]);
    const built = build === undefined ? "" : `${build} && `;
    const manifestOfProject = {
      name: project,
      version: "0.1.0",
      private: true,
      type: "module",
      scripts: {
        start: `${built}${kind.start}`,
        dev: `voice-agent-simulator dev ${WHERE} -- ${dev}`,
        test: "node --test",
        verify: `${built}voice-agent-simulator ${VERIFY} -- ${kind.start}`,
      },
      dependencies: { ...Object.fromEntries(wanted), "voice-agent-webhook-kit": `file:${archive}` },
      ...(options.nodeIsTooOld === true && { optionalDependencies: NODES }),
      engines: { node: manifest.engines.node },
      // No install script is needed, and npm asks about each one that is not decided.
      allowScripts: { "better-sqlite3": false, esbuild: false, fsevents: false },
    };
    // An older Node.js, for which the project installs a newer one, would complain about each package.
    if (options.nodeIsTooOld === true) files.set(".npmrc", { text: "loglevel=error\n" });
    files.set("package.json", { text: `${JSON.stringify(manifestOfProject, null, 2)}\n` });
  }
  files.set(".env", { text: `SIGNING_SECRET=${secret}\n` });
  files.set(".gitignore", { text: ".env\nnode_modules/\n.next/\ndata/\nevents.*\n" });
  files.set(".github/workflows/webhooks.yml", { text: githubWorkflow(kind) });
  files.set(".gitlab-ci.yml", { text: gitlabJob(kind) });
  files.set("README.md", { text: readme(project, kind, engineWords(manifest.engines.node)) });
  return files;
}

export function archiveName(version: string): string {
  return `voice-agent-webhook-kit-${version}.tgz`;
}

export function nextSteps(name: KindName): string[] {
  return stepsOf(KINDS[name]).map(({ line }) => line);
}

function stepsOf(kind: Kind): { line: string; does: string }[] {
  const isNode = kind.node !== undefined;
  return [
    ...(isNode ? [{ line: "npm install", does: "its packages" }] : []),
    {
      line: isNode ? "npm run dev" : "./dev",
      does: "the receiver beside the whole service: one event of each type, then a dashboard",
    },
    ...(isNode ? [{ line: "npm test", does: "the tests of the handlers" }] : []),
    { line: isNode ? "npm run verify" : "./verify", does: "the verdict, as the build server runs it" },
    ...(isNode ? [] : [{ line: "./start", does: "the receiver alone, with the settings in .env" }]),
  ];
}

function script(text: string): MadeFile {
  const begin = `#!/bin/sh\ncd "$(dirname "$0")" || exit\nset -a\n[ ! -f .env ] || . ./.env\n`;
  return { text: `${begin}${text}\n`, executable: true };
}

function npx(archive: string): string {
  return `npx --yes --loglevel=error $node --package file:./${archive} voice-agent-simulator`;
}

function commands(kind: Kind): string[] {
  return kind.node === undefined ? ["./verify"] : ["npm install", "npm test", "npm run verify"];
}

function githubWorkflow(kind: Kind): string {
  const steps = [...(kind.github === undefined ? [] : [kind.github]), ...commands(kind)];
  return `name: webhooks
on: [push, pull_request]
permissions:
  contents: read
jobs:
  webhooks:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: 24
${steps.map((line) => `      - run: ${line}\n`).join("")}`;
}

function gitlabJob(kind: Kind): string {
  const install = kind.debian === undefined ? [] : ["apt-get update", `apt-get install --yes ${kind.debian}`];
  return `webhooks:
  image: node:24
  script:
${[...install, ...commands(kind)].map((line) => `    - ${line}\n`).join("")}`;
}

function engineWords(range: string): string {
  return range.replace(">=", "");
}

function readme(project: string, kind: Kind, nodeMinimum: string): string {
  const needs =
    kind.node === undefined
      ? "It needs Node.js and npm beside it for the tests alone, which come from the file in this folder."
      : `It needs Node.js ${nodeMinimum} or newer.`;
  const steps = stepsOf(kind);
  const width = Math.max(...steps.map(({ line }) => line.length));
  const lines = steps.map(({ line, does }) => `${line.padEnd(width)}   # ${does}`).join("\n");
  const work =
    kind.node === undefined
      ? 'Your work goes where the code says "Your work".'
      : `Your work goes into \`handlers.mjs\`. In production, start it by \`${kind.start.replace(/^next/, "node_modules/.bin/next")}\`: npm's shell passes no signal on.`;
  return `# ${project}

Receives the webhooks of the voice agent service: ${kind.title}. ${needs}

\`\`\`sh
${lines}
\`\`\`

${work} \`.env\` has a secret for trials: replace it with that of your endpoint. It is not committed. The variable \`PORT\` changes the port from 3000.

GitHub and GitLab run the verdict at each push (\`.github/workflows/webhooks.yml\`, \`.gitlab-ci.yml\`); any other build server runs \`${commands(kind).join(" && ")}\`.
`;
}
