/** Polls until `condition` passes or returns true; fails after a minute with the last result. */
export async function until<Value>(
  look: () => Promise<Value> | Value,
  condition: (value: Value) => boolean = Boolean,
): Promise<Value> {
  const giveUpAtMs = performance.now() + 60_000;
  for (;;) {
    const value = await look();
    if (condition(value)) return value;
    if (performance.now() > giveUpAtMs)
      throw new Error(`Waited in vain; last seen: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A promise that the caller settles. */
export function signalled<Value = void>(): { promise: Promise<Value>; give: (value: Value) => void } {
  const { promise, resolve } = Promise.withResolvers<Value>();
  return { promise, give: resolve };
}
