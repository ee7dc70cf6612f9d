import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Builds what is published: JavaScript and the library's type declarations in `dist/` (or the folder that is named), with
 * the files that are read at run time beside them. Node.js strips no types inside node_modules, so a package must not ship
 * TypeScript. What follows the folder goes to the compiler.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const PROGRAMS = ["receiver/main.js", "simulator/main.js"];
const READ_AT_RUN_TIME = /(?:\/dashboard\/public(?:\/|$)|\.(?:json|yaml|cjs|d\.cts)$)/;

const [folder = join(root, "dist"), ...compilerOptions] = process.argv.slice(2);
const dist = resolve(folder);
process.chdir(root);
rmSync(dist, { recursive: true, force: true });

// Comments stay where an editor shows them: with the declarations.
compile("--emitDeclarationOnly");
compile("--declaration", "false", "--removeComments", "--noCheck");

for (const folder of ["receiver", "simulator", "shared"]) {
  cpSync(folder, join(dist, folder), {
    recursive: true,
    filter: (source) => !/\.[^/.]+$/.test(source) || READ_AT_RUN_TIME.test(source.replaceAll("\\", "/")),
  });
}
// What `mcp` reads to assistants.
cpSync("docs", join(dist, "docs"), {
  recursive: true,
  filter: (source) => !/\/(?:decisions|images)$/.test(source),
});
publishDeclarations();
for (const file of PROGRAMS) chmodSync(join(dist, file), 0o755);
console.log(`Built ${dist}: ${PROGRAMS.join(", ")}`);

/**
 * Leaves the declarations that the library's users reach, and nobody else's. The compiler writes the names of our sources
 * in them, which resolves nowhere but here.
 */
function publishDeclarations(): void {
  const reached = new Set<string>();
  const reach = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    const declarations = readFileSync(file, "utf8").replaceAll(/("\.{1,2}\/[^"]+)\.ts"/g, '$1.js"');
    writeFileSync(file, declarations);
    for (const [, name = ""] of declarations.matchAll(/(?:from|import) "(\.{1,2}\/[^"]+)\.js"/g)) {
      reach(join(dirname(file), `${name}.d.ts`));
    }
  };
  reach(join(dist, "simulator", "index.d.ts"));
  for (const file of globSync(join(dist, "**/*.d.ts"))) if (!reached.has(file)) rmSync(file);
}

function compile(...pass: string[]): void {
  const { status } = spawnSync(
    "tsc",
    ["--project", "tools/tsconfig.build.json", "--outDir", dist, ...pass, ...compilerOptions],
    { stdio: "inherit", shell: process.platform === "win32" },
  );
  if (status !== 0) process.exit(status ?? 1);
}
