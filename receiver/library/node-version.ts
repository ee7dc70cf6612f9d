import { nodeIsTooOld } from "../../shared/node-minimum.ts";

/** The guard that the library imports first: it throws, since the process is somebody's own. */
const problem = nodeIsTooOld(process.versions.node);
if (problem !== undefined) throw new Error(problem);
