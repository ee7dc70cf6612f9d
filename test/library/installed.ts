import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { z } from "zod";

const execute = promisify(execFile);
const failedSchema = z.looseObject({ code: z.unknown(), stdout: z.string(), stderr: z.string() });

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NAME = "voice-agent-webhook-kit";

/** A user's project with the built package and its dependencies, as npm would install them. */
export async function projectWithKit() {
  const folder = mkdtempSync(join(tmpdir(), "project-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, "node_modules");
  const kit = join(modules, NAME);
  mkdirSync(kit, { recursive: true });
  // Other tests check that everything compiles.
  await execute("node", [join(ROOT, "tools/build.ts"), join(kit, "dist"), "--noCheck"]);
  for (const file of ["package.json", "CHANGELOG.md"]) cpSync(join(ROOT, file), join(kit, file));

  return {
    folder,
    kit,
    /** Links packages of ours into it: for its compiler only those that the kit's types need. */
    lend(...names: string[]): void {
      for (const name of names) {
        mkdirSync(join(modules, name, ".."), { recursive: true });
        symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
      }
    },
    write(file: string, text: string): void {
      writeFileSync(join(folder, file), text);
    },
    async run(program: string, ...words: string[]): Promise<{ status: unknown; output: string }> {
      try {
        const { stdout, stderr } = await execute(program, words, { cwd: folder, timeout: 120_000 });
        return { status: 0, output: stdout + stderr };
      } catch (error) {
        const { code, stdout, stderr } = failedSchema.parse(error);
        return { status: code, output: stdout + stderr };
      }
    },
  };
}
