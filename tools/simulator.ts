import "./node-version.ts";

/** `npm run simulator`: runs the program with paths relative to the user's folder; npm runs scripts in ours. */
process.chdir(process.env["INIT_CWD"] ?? ".");
await import("../simulator/main.ts");
