import "./node-version.ts";

/** `npm run simulator`: the program, with paths and programs meant from where the user is; npm runs scripts in our folder. */
process.chdir(process.env["INIT_CWD"] ?? ".");
await import("../simulator/main.ts");
