import { runtimeProblem } from "../../shared/node-version.ts";

/** The guard that the library imports first: it throws, since the process is somebody's test runner. */
const problem = runtimeProblem(process.versions);
if (problem !== undefined) throw new Error(problem);
