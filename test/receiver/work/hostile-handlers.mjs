// Named by its .ts, tsx would be loaded for it: half of what a start of the handlers' process costs.
export * from "./hostile-handlers.ts";
