/** Names of the scripts under which npm runs us in a checkout. */
const OWN_SCRIPTS = ["start", "simulator"];

/** A command of ours as this user would type it: through npm in a checkout of the kit, by its name elsewhere. */
export function ourCommand(words: string): string {
  const { npm_package_name: packageName, npm_lifecycle_event: script = "" } = process.env;
  const isCheckout = packageName === "voice-agent-webhook-kit" && OWN_SCRIPTS.includes(script);
  return `${isCheckout ? "npm run simulator --" : "voice-agent-simulator"} ${words}`;
}
