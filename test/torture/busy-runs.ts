import * as z from "zod";

/** One play of a part of the tests beside processes that want the cores too. */
export const busyPlaySchema = z.object({
  commit: z.string(),
  /** A folder of tests, which is one of so many. */
  part: z.string(),
  parts: z.int().positive(),
  seconds: z.number(),
  /** The names of the tests that failed; "?" where it ended otherwise. */
  failed: z.array(z.string()),
});

export type BusyPlay = z.infer<typeof busyPlaySchema>;

/** How often all parts were played at a commit, and in how many of these rounds a test failed. */
export type BusyRuns = { commit: string; runs: number; failed: number };

/** The whole runs of each commit: the nth is made of the nth play of every part, whenever each of them was. */
export function busyRuns(plays: readonly BusyPlay[]): BusyRuns[] {
  return [...Map.groupBy(plays, ({ commit }) => commit)].flatMap(([commit, ofCommit]) => {
    const parts = [...Map.groupBy(ofCommit, ({ part }) => part).values()];
    const runs = Math.min(...parts.map((ofPart) => ofPart.length));
    if (parts.length !== ofCommit[0]?.parts) return [];
    const isGreen = (run: number): boolean => parts.every((ofPart) => ofPart[run]?.failed.length === 0);
    const green = Array.from({ length: runs }, (_, run) => run).filter(isGreen).length;
    return [{ commit, runs, failed: runs - green }];
  });
}
