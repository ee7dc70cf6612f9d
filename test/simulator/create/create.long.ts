import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KINDS, type KindName } from "../../../simulator/create/kinds.ts";
import { userEnvironment } from "../../../simulator/processes/user-environment.ts";
import { freePort } from "../../helpers/free-port.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { ROOT } from "../../repository/files.ts";

/** What a kind needs that not every machine has. */
const PROBES: Partial<Record<KindName, string[]>> = {
  python: ["python3", "--version"],
  go: ["go", "version"],
  php: ["php", "-r", 'exit(extension_loaded("pdo_sqlite") ? 0 : 1);'],
  ruby: ["ruby", "-e", 'gem "sinatra"; gem "sqlite3"'],
};

// npm fetches what each needs: this takes minutes, and a network.
for (const name of Object.keys(KINDS) as KindName[]) {
  const [program = "true", ...words] = PROBES[name] ?? [];
  const isHere = spawnSync(program, words, { stdio: "ignore" }).status === 0;
  test.skipIf(!isHere)(
    `a project made with create --${name} is installed, started and verified`,
    async () => {
      const folder = join(temporaryDirectory(), "calls");
      const created = sh(`npm --prefix ${ROOT} run --silent simulator -- create ${folder} --${name}`, ROOT);
      expect(created.output).toContain("Made ");
      const url = `http://localhost:${await freePort()}`;
      // Others may have the usual port.
      expect(
        sh(`sed -i 's#http://localhost:3000#${url}#g' verify dev package.json 2>&1; true`, folder).status,
      ).toBe(0);
      const steps = created.output.includes("npm install") ? "npm install && npm run verify" : "./verify";
      const { status, output } = sh(steps, folder);
      expect(output).toMatch(/PASSED {2}\d+ passed, 0 failed/);
      expect(status).toBe(0);
    },
  );
}

function sh(line: string, cwd: string): { status: number | null; output: string } {
  const path = `${join(process.execPath, "..")}:${userEnvironment()["PATH"] ?? ""}`;
  const options = { cwd, encoding: "utf8", env: { ...userEnvironment(), PATH: path } } as const;
  const { status, stdout, stderr } = spawnSync("bash", ["-c", line], options);
  return { status, output: stdout + stderr };
}
