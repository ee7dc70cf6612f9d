import { runtimeProblem } from "../../shared/node-version.ts";

/** The library imports this first: it throws, rather than exit, since the process is the user's test runner. */
const problem = runtimeProblem(process.versions);
if (problem !== undefined) throw new Error(problem);
