// A .mjs, since a module named .ts loads tsx: half of the time that the handlers' process takes to start.
export * from "./hostile-handlers.ts";
