import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Files of the project that match, by their path from its root: what is under version control and what is about to be. */
export function filesOf(matches: RegExp): Map<string, string> {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const paths = listed.split("\0").filter((path) => matches.test(path) && existsSync(ROOT + path));
  return new Map(paths.map((path) => [path, readFileSync(ROOT + path, "utf8")]));
}
