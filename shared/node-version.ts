import { nodeIsTooOld } from "./node-minimum.ts";

/**
 * The guard that every program imports first. On a Node.js before 22.19 better-sqlite3 dies with a segmentation fault and
 * no message, so this speaks before it is loaded.
 */
const EXIT_CONFIGURATION = 78;

const problem = nodeIsTooOld(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(EXIT_CONFIGURATION);
}
