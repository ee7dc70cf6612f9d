import * as z from "zod";

/** All tests, played once beside processes that want the cores too. */
export const busyPlaySchema = z.object({
  commit: z.string(),
  seconds: z.number(),
  /** The names of the tests that failed; "?" where it ended otherwise. */
  failed: z.array(z.string()),
});

export type BusyPlay = z.infer<typeof busyPlaySchema>;

/** How often all tests were played at a commit, and in how many of these runs one failed. */
export type BusyRuns = { commit: string; runs: number; failed: number };

/** The runs of each commit, in the order in which they were first played. */
export function busyRuns(plays: readonly BusyPlay[]): BusyRuns[] {
  return [...Map.groupBy(plays, ({ commit }) => commit)].map(([commit, ofCommit]) => {
    const failed = ofCommit.filter((play) => play.failed.length > 0).length;
    return { commit, runs: ofCommit.length, failed };
  });
}

/** How many runs there were since one failed, whatever the commit. */
export function greenInARow(plays: readonly BusyPlay[]): number {
  return plays.length - 1 - plays.findLastIndex(({ failed }) => failed.length > 0);
}
