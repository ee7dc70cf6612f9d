import type { Check, CheckContext, Handled, HandledCounts, Named, Verdict } from "../check.ts";
import { whenSettled } from "../judge.ts";

/** How often an event may have been handled. */
export const ONCE = { least: 1, most: 1 };
export const NEVER = { least: 0, most: 0 };
export const AT_MOST_ONCE = { least: 0, most: 1 };

export const HANDLE_HINT =
  "Acknowledge only what is stored for good, and have something that works off what is stored.";
export const ONCE_HINT =
  "Insert the id under a unique constraint in the transaction that stores the event, and handle only what was inserted.";

/** A check that sends something and judges, when all has come to rest, how often it was handled. */
export function effect(
  { name, ...about }: Named<"title" | "spec" | "hint">,
  send: (context: CheckContext) => Promise<(handled: HandledCounts) => Verdict>,
): Check {
  return {
    ...about,
    id: `effects.${name}`,
    level: "must",
    group: "effects",
    needs: ["observe"],
    run: async (context) => whenSettled(await send(context)),
  };
}

/** Whether the receiver says that it handled an event. */
export function isHandled(reading: Handled): boolean {
  return reading.known && reading.count > 0;
}
