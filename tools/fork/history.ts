import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The branch of a fork with only the kit's files, one commit per version. */
export const KIT_BRANCH = "kit";

/** The author of the kit's commits, so that git needs no user.name. */
const AUTHOR = {
  GIT_AUTHOR_NAME: "voice-agent-webhook-kit",
  GIT_AUTHOR_EMAIL: "kit@localhost",
  GIT_COMMITTER_NAME: "voice-agent-webhook-kit",
  GIT_COMMITTER_EMAIL: "kit@localhost",
};

/** Whether git is installed, and the folder is in no repository yet. */
export function canBegin(folder: string): boolean {
  return git(folder, ["--version"]).ok && !git(folder, ["rev-parse", "--git-dir"]).ok;
}

/** Starts the history of a fork with all files of its folder, on the branches `main` and `kit`. */
export function beginHistory(folder: string, message: string): void {
  orThrow(git(folder, ["init", "--quiet", "--initial-branch=main"]));
  commitKit(folder, folder, message);
  orThrow(git(folder, ["update-ref", "refs/heads/main", KIT_BRANCH]));
  orThrow(git(folder, ["reset", "--quiet"]));
}

/** The branch `kit` of a fork: its package.json and its files; undefined if the folder has no such branch. */
export function readKitBranch(folder: string) {
  if (!git(folder, ["rev-parse", "--verify", "--quiet", `refs/heads/${KIT_BRANCH}`]).ok) return undefined;
  return {
    isCheckedOut: git(folder, ["symbolic-ref", "--quiet", "--short", "HEAD"]).output.trim() === KIT_BRANCH,
    manifest: orThrow(git(folder, ["show", `${KIT_BRANCH}:package.json`])),
    has: (path: string) => git(folder, ["cat-file", "-e", `${KIT_BRANCH}:${path}`]).ok,
  };
}

/**
 * Commits the files under `source` to the branch `kit` of the fork in `folder`; returns false if it already has exactly
 * these. Written as git objects: the index, the working files, hooks and signing stay untouched.
 */
export function commitKit(folder: string, source: string, message: string): boolean {
  const scratch = mkdtempSync(join(tmpdir(), "kit-index-"));
  try {
    const repository = {
      GIT_DIR: orThrow(git(folder, ["rev-parse", "--absolute-git-dir"])).trim(),
      GIT_INDEX_FILE: join(scratch, "index"),
      GIT_WORK_TREE: source,
      ...AUTHOR,
    };
    const ask = (...words: string[]) => git(source, words, repository);
    const before = ask("rev-parse", "--verify", "--quiet", `refs/heads/${KIT_BRANCH}`).output.trim();
    orThrow(ask("add", "--all", "."));
    const tree = orThrow(ask("write-tree")).trim();
    if (before !== "" && orThrow(ask("rev-parse", `${before}^{tree}`)).trim() === tree) return false;
    const parents = before === "" ? [] : ["-p", before];
    const made = orThrow(ask("commit-tree", tree, ...parents, "-m", message)).trim();
    orThrow(ask("update-ref", `refs/heads/${KIT_BRANCH}`, made, before));
    return true;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

type Run = { ok: boolean; output: string; words: string };

function git(cwd: string, words: readonly string[], environment: Record<string, string> = {}): Run {
  // Inside a hook, git's variables name the repository of the hook, not this one.
  const outside = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  const { status, stdout, stderr } = spawnSync("git", words, {
    cwd,
    encoding: "utf8",
    env: { ...Object.fromEntries(outside), ...environment },
  });
  return {
    ok: status === 0,
    output: stdout ?? "",
    words: `git ${words.join(" ")}: ${stderr ?? "not found"}`,
  };
}

function orThrow({ ok, output, words }: Run): string {
  if (!ok) throw new Error(words.trim());
  return output;
}
