import { nodeIsTooOld } from "../../shared/node-minimum.ts";

/** The guard that the library imports first: it throws, since the process belongs to the app. */
const problem = nodeIsTooOld(process.versions.node);
if (problem !== undefined) throw new Error(problem);
