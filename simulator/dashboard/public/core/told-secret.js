import { useEffect, useState } from "preact/hooks";

const watchers = new Set();
let told;

/**
 * Shows the secret of an endpoint that was just registered, whatever page is open, until somebody has copied it: after that
 * it is nowhere. With `isTested`, an event is sent to it at once.
 */
export function tellSecret(endpoint, { isTested = false } = {}) {
  tell({ endpoint, isTested });
}

/** It was copied. */
export function forgetSecret() {
  tell(undefined);
}

/** What is to be shown now: `{ endpoint, isTested }`, or undefined. */
export function useToldSecret() {
  const [shown, setShown] = useState(told);
  useEffect(() => {
    watchers.add(setShown);
    return () => watchers.delete(setShown);
  }, []);
  return shown;
}

function tell(next) {
  told = next;
  for (const watcher of watchers) watcher(next);
}
