import { createRequire } from "node:module";

// Read without a schema, since `--help` loads this, too, and must be fast.
const found: unknown = createRequire(import.meta.url)("voice-agent-webhook-kit/package.json");

export const VERSION =
  typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown";
