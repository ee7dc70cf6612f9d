/** What a command's exit code means: the same as the simulator's. */
export const EXIT = { ok: 0, somethingIsWrong: 1, usage: 2, couldNotRun: 3 } as const;
