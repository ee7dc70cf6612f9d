import { createRandom } from "../../simulator/domain/random.ts";

/** Where everything that tests draw begins. `SEED` repeats a run; without it each run is another. */
export const SEED = Number(process.env["SEED"] ?? Date.now() % 2 ** 31);

/** Numbers from 0 up to 1, the same ones for the same seed. */
export function randomFrom(seed: number): () => number {
  const random = createRandom(seed, "tests");
  return () => random.next();
}
