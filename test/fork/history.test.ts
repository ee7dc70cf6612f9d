import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { makeFork, upgradeFork } from "../../tools/fork/fork.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { ROOT } from "../repository/files.ts";
import { ALL } from "../helpers/run/sizes.ts";

const NEXT_VERSION = "0.2.0";

/** A next version of the kit: a fixed file of the receiver, a new setting, and a new handler's file. */
function nextKit(): string {
  const kit = `${mkdtempSync(join(tmpdir(), "kit-"))}/`;
  const parts = ["receiver", "shared", "deploy", "docs", "test", "tools"];
  const single = ["package.json", "package-lock.json", "tsconfig.json", ".env.example", ".npmrc", "LICENSE"];
  for (const path of [...parts, ...single]) {
    cpSync(ROOT + path, kit + path, { recursive: true, filter: (file) => !file.includes("node_modules") });
  }
  const manifest = readFileSync(`${kit}package.json`, "utf8");
  writeFileSync(`${kit}package.json`, manifest.replace(/"version": "[^"]*"/, `"version": "${NEXT_VERSION}"`));
  appendFileSync(`${kit}receiver/intake/inbox.ts`, "// mended\n");
  appendFileSync(`${kit}receiver/handlers/voicemail-created.ts`, "// changed by the kit\n");
  writeFileSync(`${kit}receiver/handlers/new-type.ts`, "export const NEW = 1;\n");
  return kit;
}

function git(cwd: string, ...words: string[]): string {
  const who = ["-c", "user.name=somebody", "-c", "user.email=somebody@localhost"];
  return execFileSync("git", [...who, ...words], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

const fork = (target: string, kit = ROOT) => makeFork({ kit, target, kitVersion: "0.1.0" });
const upgrade = (target: string, kit: string) => upgradeFork({ kit, target, kitVersion: NEXT_VERSION });

describe.runIf(ALL)("the history of a fork", () => {
  let later: string;
  beforeAll(() => {
    later = nextKit();
    return () => rmSync(later, { recursive: true, force: true });
  });

  test("begins with the kit's files, on main and on kit, without the secret", () => {
    const target = join(temporaryDirectory(), "my-receiver");
    const made = fork(target);
    expect(made).toMatchObject({ ok: true });
    expect(made.ok && made.lines.join("\n")).toContain("npm ci && npm start");
    expect(git(target, "status", "--porcelain")).toBe("");
    expect(git(target, "log", "--format=%s %an", "main")).toBe(
      "Fork voice-agent-webhook-kit 0.1.0 voice-agent-webhook-kit",
    );
    expect(git(target, "rev-parse", "main")).toBe(git(target, "rev-parse", "kit"));
    expect(git(target, "ls-files")).not.toMatch(/^\.env$/m);
    expect(readFileSync(join(target, ".env"), "utf8")).toMatch(/^SIGNING_SECRET=whsec_[0-9a-f]{48}$/m);
    expect(statSync(join(target, ".env")).mode & 0o777).toBe(0o600);
  });

  test("is separate, even if git's variables name another repository, as in a hook", () => {
    const other = temporaryDirectory();
    git(other, "init", "--quiet");
    vi.stubEnv("GIT_DIR", join(other, ".git"));
    vi.stubEnv("GIT_INDEX_FILE", join(other, ".git/index"));
    const target = join(temporaryDirectory(), "my-receiver");
    const made = fork(target);
    vi.unstubAllEnvs();
    expect(made).toMatchObject({ ok: true });
    expect(git(target, "log", "--format=%s", "kit")).toBe("Fork voice-agent-webhook-kit 0.1.0");
    expect(git(other, "branch", "--all")).toBe("");
  });

  test("merges a later version, and keeps the owner's handlers and deletions", () => {
    const target = join(temporaryDirectory(), "my-receiver");
    fork(target);
    const handler = join(target, "receiver/handlers/call-completed.ts");
    writeFileSync(handler, `// mine\n${readFileSync(handler, "utf8")}`);
    rmSync(join(target, "deploy/alerts.yaml"));
    git(target, "commit", "--quiet", "--all", "-m", "Write my handler");
    writeFileSync(join(target, "notes.txt"), "not committed yet");

    expect(upgrade(target, later)).toMatchObject({ ok: true });
    expect(git(target, "status", "--porcelain")).toBe("?? notes.txt");
    expect(existsSync(join(target, "receiver/handlers/new-type.ts"))).toBe(false);

    git(target, "merge", "--quiet", "-m", "Merge the kit", "kit");
    expect(readFileSync(handler, "utf8")).toMatch(/^\/\/ mine/);
    expect(readFileSync(join(target, "receiver/intake/inbox.ts"), "utf8")).toMatch(/\/\/ mended\n$/);
    expect(existsSync(join(target, "receiver/handlers/new-type.ts"))).toBe(true);
    expect(existsSync(join(target, "deploy/alerts.yaml"))).toBe(false);
    expect(JSON.parse(readFileSync(join(target, "package.json"), "utf8"))).toMatchObject({
      name: "my-receiver",
    });
    expect(git(target, "log", "--format=%s", "-1", "kit")).toBe(
      `Take over voice-agent-webhook-kit ${NEXT_VERSION}`,
    );
    expect(upgrade(target, later)).toMatchObject({ ok: true, lines: [expect.stringContaining("already")] });
  });

  test("keeps the options of a fork, and the parts of a fork made before there were options", () => {
    const target = join(temporaryDirectory(), "my-receiver");
    makeFork({ kit: ROOT, target, kitVersion: "0.1.0" });
    upgrade(target, later);
    const has = (path: string) => git(target, "ls-tree", "--name-only", "kit", path);
    expect(has("receiver/library")).toBe("");
    upgradeFork({ kit: later, target, kitVersion: NEXT_VERSION, library: true });
    expect(has("receiver/library")).toBe("receiver/library");
    upgrade(target, later);
    expect(has("receiver/library")).toBe("receiver/library");
  });

  test("shows as a conflict what both sides changed, and loses neither", () => {
    const target = join(temporaryDirectory(), "my-receiver");
    fork(target);
    const handler = join(target, "receiver/handlers/voicemail-created.ts");
    appendFileSync(handler, "// changed by me\n");
    git(target, "commit", "--quiet", "--all", "-m", "Write my handler");
    upgrade(target, later);
    expect(() => git(target, "merge", "kit")).toThrow("git");
    expect(git(target, "diff", "--name-only", "--diff-filter=U")).toBe(
      "receiver/handlers/voicemail-created.ts",
    );
    expect(readFileSync(handler, "utf8")).toMatch(/changed by me[^]*changed by the kit/);
  });

  test("is refused without a fork to continue, and while its branch is checked out", () => {
    const target = join(temporaryDirectory(), "my-receiver");
    expect(upgrade(target, later)).toMatchObject({
      ok: false,
      message: expect.stringContaining("no folder"),
    });
    mkdirSync(target);
    expect(upgrade(target, later)).toMatchObject({
      ok: false,
      message: expect.stringContaining('no git branch "kit"'),
    });
    fork(target);
    git(target, "switch", "--quiet", "kit");
    expect(upgrade(target, later)).toMatchObject({
      ok: false,
      message: expect.stringContaining("git switch main"),
    });
  });

  test("is not started inside another repository", () => {
    const around = temporaryDirectory();
    git(around, "init", "--quiet");
    const target = join(around, "my-receiver");
    expect(fork(target)).toMatchObject({ ok: true });
    expect(existsSync(join(target, ".git"))).toBe(false);
    expect(existsSync(join(target, "receiver/main.mjs"))).toBe(true);
  });
});

describe("a fork is refused, and nothing is written,", () => {
  test("in a folder that is not empty", () => {
    const target = temporaryDirectory();
    writeFileSync(join(target, "mine.txt"), "");
    expect(fork(target)).toMatchObject({
      ok: false,
      message: expect.stringContaining("is not empty (it has mine.txt)"),
    });
    expect(fork(join(target, "mine.txt"))).toMatchObject({
      ok: false,
      message: expect.stringContaining("is a file"),
    });
    expect(existsSync(join(target, "receiver"))).toBe(false);
  });

  test("inside the kit", () => {
    for (const inside of ["my-receiver", ".", "receiver/mine"]) {
      expect(fork(join(ROOT, inside))).toMatchObject({
        ok: false,
        message: expect.stringContaining("inside the kit"),
      });
    }
    expect(existsSync(`${ROOT}my-receiver`)).toBe(false);
  });

  test("below a folder that does not exist", () => {
    const target = temporaryDirectory();
    expect(fork(join(target, "typo/my-receiver"))).toMatchObject({
      ok: false,
      message: expect.stringContaining("no folder"),
    });
    expect(existsSync(join(target, "typo"))).toBe(false);
  });

  test("but not in an empty folder", () => {
    const target = join(temporaryDirectory(), "empty");
    mkdirSync(target);
    expect(fork(target)).toMatchObject({ ok: true });
  });
});
