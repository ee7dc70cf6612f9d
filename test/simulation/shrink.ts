/**
 * The smallest schedule of `steps` steps with which `run` still fails: steps are left out, in halves, quarters and so on
 * down to single ones, for as long as it fails without them. `run` gets the numbers of those that are left out.
 */
export async function shrink(
  run: (skip: ReadonlySet<number>) => Promise<unknown>,
  steps: number,
): Promise<{ kept: number[]; message: string }> {
  const skip = new Set<number>();
  let message = "";
  const fails = async (skipped: ReadonlySet<number>): Promise<boolean> => {
    try {
      await run(skipped);
      return false;
    } catch (error) {
      message = error instanceof Error ? error.message : String(error);
      return true;
    }
  };
  for (let size = Math.ceil(steps / 2); ; size = Math.ceil(size / 2)) {
    for (let from = 0; from < steps; from += size) {
      const more = Array.from({ length: Math.min(size, steps - from) }, (_, index) => from + index);
      const tried = new Set([...skip, ...more]);
      if (tried.size > skip.size && (await fails(tried))) for (const step of more) skip.add(step);
    }
    if (size === 1) break;
  }
  const kept = Array.from({ length: steps }, (_, step) => step).filter((step) => !skip.has(step));
  await fails(skip);
  return { kept, message };
}
