import { createRequire } from "node:module";

// Read without a schema: this is loaded by `--help` too, which is to answer at once.
const found: unknown = createRequire(import.meta.url)("voice-agent-webhook-kit/package.json");

export const VERSION =
  typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown";
