import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { z } from "zod";
import { forkFiles, type Parts } from "./files.ts";
import { beginHistory, canBegin, commitKit, KIT_BRANCH, readKitBranch } from "./history.ts";
import { packageName } from "./manifest.ts";

/** The next steps, or why nothing was done. */
export type ForkResult = { ok: true; lines: string[] } | { ok: false; message: string };

type Request = { kit: string; target: string; kitVersion: string } & Partial<Parts>;

/**
 * Makes a separate project from the receiver in `kit`, in the folder `target`, which must be empty or missing: its files,
 * a `.env` with a new secret, and a git history into which later versions can be merged.
 */
export function makeFork({
  kit,
  target,
  kitVersion,
  library = false,
  postgres = false,
}: Request): ForkResult {
  const problem = problemWith(kit, target);
  if (problem !== undefined) return { ok: false, message: problem };

  const files = forkFiles(kit, packageName(basename(target)), { library, postgres });
  writeFiles(target, files);
  const hasHistory = canBegin(target);
  if (hasHistory) beginHistory(target, `Fork voice-agent-webhook-kit ${kitVersion}`);
  // Never in the history: a secret for trying things out, different for each fork.
  const settings = (files.get(".env.example") ?? "").replace(
    /^SIGNING_SECRET=$/m,
    `SIGNING_SECRET=whsec_${randomBytes(24).toString("hex")}`,
  );
  writeFileSync(join(target, ".env"), settings, { mode: 0o600 });
  return {
    ok: true,
    lines: [
      `Made ${target}: ${files.size} files${hasHistory ? `, committed on the branches main and ${KIT_BRANCH}` : ""}.`,
      `To own: ${sizeOf(files, /^(?:receiver|shared)\/.*ts$/)} of the receiver, ${sizeOf(files, /^test\/.*ts$/)} of its tests.`,
      "",
      "Next:",
      `  cd ${target}`,
      "  npm ci && npm start",
      "  npm ci && npm test",
      "Its README.md says the rest: your handlers, its settings, later versions of the kit.",
    ],
  };
}

/**
 * Commits the kit's current files to the branch `kit` of a fork, from which the user merges them: with the library and
 * PostgreSQL if the fork has them, or if they are requested now. Changes nothing else in the fork.
 */
export function upgradeFork({ kit, target, kitVersion, ...wanted }: Request): ForkResult {
  if (!existsSync(target))
    return { ok: false, message: `There is no folder ${target}: name that of your fork.` };
  const branch = readKitBranch(target);
  if (branch === undefined) {
    return {
      ok: false,
      message: `${target} has no git branch "${KIT_BRANCH}": npm run fork makes it. Without it, make a new fork and copy your handlers there.`,
    };
  }
  if (branch.isCheckedOut) {
    return {
      ok: false,
      message: `${target} is on the branch "${KIT_BRANCH}": go back to yours first (git switch main).`,
    };
  }
  const { name } = z.looseObject({ name: z.string() }).parse(JSON.parse(branch.manifest));
  const source = mkdtempSync(join(tmpdir(), "kit-files-"));
  try {
    const parts = {
      library: wanted.library === true || branch.has("receiver/library"),
      postgres: wanted.postgres === true || branch.has("receiver/postgres"),
    };
    writeFiles(source, forkFiles(kit, name, parts));
    const isNew = commitKit(target, source, `Take over voice-agent-webhook-kit ${kitVersion}`);
    if (!isNew) return { ok: true, lines: [`${target} has everything of this version already.`] };
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
  return {
    ok: true,
    lines: [
      `The branch "${KIT_BRANCH}" of ${target} has this version now; your files are as they were.`,
      "",
      "Next:",
      `  cd ${target}`,
      `  git merge ${KIT_BRANCH}`,
      "  npm ci && npm run check && npm test",
    ],
  };
}

function problemWith(kit: string, target: string): string | undefined {
  if (!relative(kit, target).startsWith("..")) {
    return `${target} lies inside the kit: a fork is a project of its own, such as ../my-receiver.`;
  }
  if (!existsSync(target)) {
    // If its parent folder is missing too, the path was probably mistyped.
    return existsSync(dirname(target)) ? undefined : `There is no folder ${dirname(target)}: make it first.`;
  }
  if (!statSync(target).isDirectory())
    return `${target} is a file: name a folder that is empty or not there yet.`;
  const [first] = readdirSync(target);
  return first === undefined
    ? undefined
    : `${target} is not empty (it has ${first}): name a folder that is empty or not there yet.`;
}

function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    const file = resolve(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

function sizeOf(files: ReadonlyMap<string, string>, matches: RegExp): string {
  const texts = [...files].filter(([path]) => matches.test(path)).map(([, text]) => text);
  const lines = texts.reduce((sum, text) => sum + text.split("\n").length - 1, 0);
  return `${lines.toLocaleString("en-US")} lines in ${String(texts.length)} files`;
}
