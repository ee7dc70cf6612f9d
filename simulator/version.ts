import { createRequire } from "node:module";
import { z } from "zod";

const packageSchema = z.looseObject({ version: z.string() });

/** The version of this package. */
export const VERSION = packageSchema.parse(
  createRequire(import.meta.url)("voice-agent-webhook-kit/package.json"),
).version;
