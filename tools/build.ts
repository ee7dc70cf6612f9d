import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { currentBundle } from "../simulator/dashboard/bundle.ts";

/**
 * Builds the published package: JavaScript and the library's type declarations in `dist/` (or the named folder), with the
 * files read at run time. Node.js strips no types inside node_modules, so a package must not ship TypeScript. Arguments after
 * the folder go to the compiler.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const PROGRAMS = ["receiver/main.js", "simulator/main.js"];
const READ_AT_RUN_TIME = /\.(?:json|yaml|mp3|cjs|d\.cts)$/;

if (process.argv.includes("--help")) {
  process.stdout.write("Usage: npm run build -- [folder (dist)] [options of the compiler]\n");
  process.exit();
}
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
    filter: (source) =>
      !source.replaceAll("\\", "/").includes("/dashboard/app") &&
      (!/\.[^/.]+$/.test(source) || READ_AT_RUN_TIME.test(source)),
  });
}
await publishDashboard();
// Files that messages and hints refer to.
cpSync("docs", join(dist, "docs"), {
  recursive: true,
  filter: (source) => !/\/(?:decisions|images)$/.test(source),
});
// The templates of `create`.
for (const folder of ["examples/mounted", "examples/receivers"]) {
  cpSync(folder, join(dist, folder), {
    recursive: true,
    filter: (source) => !source.endsWith(".ts") && !source.endsWith("node_modules"),
  });
}
publishDeclarations();
for (const file of PROGRAMS) chmodSync(join(dist, file), 0o755);
console.log(`Built ${dist}: ${PROGRAMS.join(", ")}`);

/** Puts the dashboard's bundle where the published simulator looks for it, without its source. */
async function publishDashboard(): Promise<void> {
  const { page, files } = await currentBundle();
  const folder = join(dist, "simulator/dashboard/built");
  mkdirSync(folder, { recursive: true });
  for (const [name, body] of [["index.html", page] as const, ...files])
    writeFileSync(join(folder, name), body);
}

/**
 * Keeps only the declarations that the library's users reach. The compiler writes the names of our sources into them, which
 * resolve only here.
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
  for (const library of ["receiver", "simulator"]) reach(join(dist, library, "index.d.ts"));
  for (const file of globSync(join(dist, "**/*.d.{ts,mts}"))) if (!reached.has(file)) rmSync(file);
}

function compile(...pass: string[]): void {
  const { status } = spawnSync(
    "tsc",
    ["--project", "tools/tsconfig.build.json", "--outDir", dist, ...pass, ...compilerOptions],
    { stdio: "inherit", shell: process.platform === "win32" },
  );
  if (status !== 0) process.exit(status ?? 1);
}
