/** Options of Node.js before a TypeScript file. It strips types itself; this only turns off the warning. */
export const RUN_TYPESCRIPT: readonly string[] = ["--disable-warning=ExperimentalWarning"];
