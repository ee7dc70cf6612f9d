/**
 * What Node.js needs before a TypeScript file: nothing but quiet where it strips types itself, which starts three tenths of
 * a second sooner than through tsx.
 */
export const RUN_TYPESCRIPT: readonly string[] = process.features.typescript
  ? ["--disable-warning=ExperimentalWarning"]
  : ["--import", "tsx"];
