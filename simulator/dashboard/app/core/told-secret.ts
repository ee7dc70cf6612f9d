import type { EndpointWithSecret } from "./types.ts";
import { useEffect, useState } from "preact/hooks";

type Told = { endpoint: EndpointWithSecret; isTested: boolean };

const watchers = new Set<(told: Told | undefined) => void>();
let told: Told | undefined;

/**
 * Shows the secret of an endpoint that was just registered, whatever page is open, until somebody has copied it: after that
 * it is nowhere. With `isTested`, an event is sent to it at once.
 */
export function tellSecret(endpoint: EndpointWithSecret, { isTested = false } = {}): void {
  tell({ endpoint, isTested });
}

/** It was copied. */
export function forgetSecret() {
  tell(undefined);
}

/** What is to be shown now: `{ endpoint, isTested }`, or undefined. */
export function useToldSecret(): Told | undefined {
  const [shown, setShown] = useState(told);
  useEffect(() => {
    watchers.add(setShown);
    return () => void watchers.delete(setShown);
  }, []);
  return shown;
}

function tell(next: Told | undefined): void {
  told = next;
  for (const watcher of watchers) watcher(next);
}
