/** What Node.js needs before a TypeScript file, whose types it strips itself: nothing but quiet about that. */
export const RUN_TYPESCRIPT: readonly string[] = ["--disable-warning=ExperimentalWarning"];
