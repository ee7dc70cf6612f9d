import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NAME = "voice-agent-webhook-kit";

/** A project of somebody's in which the built package lies as npm would install it, with what it depends on beside it. */
export function projectWithKit() {
  const folder = mkdtempSync(join(tmpdir(), "project-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, "node_modules");
  const kit = join(modules, NAME);
  mkdirSync(kit, { recursive: true });
  // That everything compiles is seen elsewhere.
  const built = spawnSync("node", [join(ROOT, "tools/build.ts"), join(kit, "dist"), "--noCheck"], {
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(built.stdout + built.stderr);
  for (const file of ["package.json", "CHANGELOG.md"]) cpSync(join(ROOT, file), join(kit, file));

  return {
    folder,
    kit,
    /** Makes packages of ours visible to it: to its compiler only those that the kit's types need. */
    lend(...names: string[]): void {
      for (const name of names) {
        mkdirSync(join(modules, name, ".."), { recursive: true });
        symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
      }
    },
    write(file: string, text: string): void {
      writeFileSync(join(folder, file), text);
    },
    run(program: string, ...words: string[]): { status: number | null; output: string } {
      const { status, stdout, stderr } = spawnSync(program, words, {
        cwd: folder,
        encoding: "utf8",
        timeout: 120_000,
      });
      return { status, output: stdout + stderr };
    },
  };
}
