import { join } from "node:path";

/** The example apps with a mounted receiver, started as their README says, on the library's sources. */
export const APPS = ["express", "fastify", "hono"];

const FOLDER = join(import.meta.dirname, "../../examples/mounted");

/** Makes Node.js resolve the kit to its sources; the package's tests try the installed files. */
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
