import { runtimeProblem } from "../../shared/node-version.ts";

/** The guard that the library imports first: it throws, since the process belongs to the app. */
const problem = runtimeProblem(process.versions);
if (problem !== undefined) throw new Error(problem);
