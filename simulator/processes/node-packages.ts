/** The Node.js that the kit's own scripts run on, which npm has as a package for each kind of machine. */
export const NEWER_NODE = "24.21.0";

/** The machines that npm has one for, as the package `node-MACHINE`. */
export const NODE_MACHINES: ReadonlySet<string> = new Set(["linux-arm64", "linux-x64", "win-x64"]);
