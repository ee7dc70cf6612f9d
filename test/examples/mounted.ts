import { join } from "node:path";

/** The examples of apps with the receiver in them, as their README starts them, on the library's sources. */
export const APPS = ["express", "fastify", "hono"];

const FOLDER = join(import.meta.dirname, "../../examples/mounted");

/** Has Node.js find the kit where it is written; what is installed is tried by the tests of the package. */
const FROM_SOURCE = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier === "voice-agent-webhook-kit/receiver" ? ${JSON.stringify(
        new URL("../../receiver/index.ts", import.meta.url).href,
      )} : specifier, context),
  });
`)}`;

export const command = (app: string): [program: string, ...words: string[]] => [
  process.execPath,
  "--disable-warning=ExperimentalWarning",
  "--import",
  FROM_SOURCE,
  join(FOLDER, `${app}.mjs`),
];
