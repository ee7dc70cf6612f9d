import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createReceiver } from "voice-agent-webhook-kit/receiver";

/** The app's only receiver, started at first use: a build has no secret, and `next dev` loads this file often. */
export function receiver() {
  globalThis.voiceAgentReceiver ??= createReceiver({
    // By its path: Next.js would bundle a `new URL()` as an asset.
    handlers: pathToFileURL(join(process.cwd(), "handlers.mjs")),
  }).catch((error) => {
    // The next request tries again.
    globalThis.voiceAgentReceiver = undefined;
    throw error;
  });
  return globalThis.voiceAgentReceiver;
}
