/**
 * The key of a job: the value at the path in the envelope, or a list of the values at several paths. Null if one of them is
 * missing or null, or if there is no path: then the job waits for no other.
 */
export function keyOf(envelope: unknown, paths: readonly string[]): string | null {
  const values = paths.map((path) => valueAt(envelope, path));
  if (values.length === 0 || values.some((value) => value === undefined || value === null)) return null;
  const [only] = values;
  return values.length === 1 && typeof only === "string"
    ? only
    : JSON.stringify(values.length === 1 ? only : values);
}

function valueAt(envelope: unknown, path: string): unknown {
  let value = envelope;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}
