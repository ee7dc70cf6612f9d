/**
 * A promise that helps where `await` was forgotten: reading one of `names`, which the result will have, throws with what to
 * write instead.
 */
export function asynchronous<Result>(
  call: string,
  names: readonly (string | symbol)[],
  promise: Promise<Result>,
): Promise<Result> {
  for (const name of names) {
    void Object.defineProperty(promise, name, {
      get() {
        throw new Error(
          `${call} answers a promise, and ${String(name)} belongs to what it resolves to: write \`await ${call}\`.`,
        );
      },
    });
  }
  return promise;
}

/** Properties of a list that are used first. */
export const NAMES_OF_A_LIST = [Symbol.iterator, "length", "at", "map", "find", "filter", "0"] as const;
