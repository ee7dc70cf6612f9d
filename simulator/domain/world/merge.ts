/** `base` with the values of `overrides` in the place of its own; objects merge key by key, all else is replaced. */
export function merge(
  base: Readonly<Record<string, unknown>>,
  overrides: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const replaced = Object.entries(overrides).map(([key, value]): [string, unknown] => {
    const own = Object.hasOwn(base, key) ? base[key] : undefined;
    return [key, isPlainObject(own) && isPlainObject(value) ? merge(own, value) : value];
  });
  // Spreading defines own properties, so that a key such as __proto__ stays a key.
  return { ...base, ...Object.fromEntries<unknown>(replaced) };
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
