import { runtimeProblem } from "../../shared/node-version.ts";

/** The library imports this check first. It throws instead of exiting, since the process belongs to the app. */
const problem = runtimeProblem(process.versions);
if (problem !== undefined) throw new Error(problem);
