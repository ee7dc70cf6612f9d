/** The Node.js that the kit's own scripts run on, which npm has as a package for each kind of machine. */
export const NEWER_NODE = "24.21.0";

/** For which it has one: `node-` and this is its name. */
export const NODE_MACHINES: ReadonlySet<string> = new Set(["linux-arm64", "linux-x64", "win-x64"]);
