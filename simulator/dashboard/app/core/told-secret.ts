import { createStore } from "./store.ts";
import type { EndpointWithSecret } from "./types.ts";

/**
 * The endpoint that was just registered, with its secret, shown whatever page is open until somebody has copied it: after
 * that it is nowhere. With `isTested`, an event is sent to it at once.
 */
export const toldSecret = createStore<{ endpoint: EndpointWithSecret; isTested: boolean } | undefined>(
  undefined,
);

/** Shows it. */
export function tellSecret(endpoint: EndpointWithSecret, { isTested = false } = {}): void {
  toldSecret.set({ endpoint, isTested });
}
