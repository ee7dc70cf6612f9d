import { runtimeProblem } from "./node-minimum.ts";

/**
 * Every program imports this file first: on a Node.js before 22.19 better-sqlite3 dies with a segmentation fault and no
 * message, so this says what is wrong before it is loaded. 78 is the exit code for a wrong configuration (sysexits.h).
 */
const EXIT_CONFIGURATION = 78;

const problem = runtimeProblem(process.versions);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(EXIT_CONFIGURATION);
}
