/** The shells that a script of completions is made for. */
export const COMPLETED_SHELLS = ["bash", "zsh", "fish"] as const;
export type CompletedShell = (typeof COMPLETED_SHELLS)[number];
