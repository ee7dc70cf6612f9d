import { readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { lockfileSchema, pruneLockfile } from "./lockfile.ts";
import { importsOf, packageOf } from "./imports.ts";
import { forkManifest, manifestSchema } from "./manifest.ts";
import { ownTests } from "./own-tests.ts";

/** Copied unchanged: each is a file, or a folder with all its content. */
const TAKEN = [
  "receiver",
  "shared",
  "deploy",
  "docs/handlers.md",
  "docs/operations.md",
  "docs/production.md",
  "docs/recipes.md",
  "docs/reconcile.md",
  "docs/upgrading.md",
  "tools/node/package.json",
  "tsconfig.json",
  ".env.example",
  ".npmrc",
  "LICENSE",
];

/** The library, which mounts the receiver in another app. */
const LIBRARY = /^receiver\/(?:library\/|index\.)/;

/** The store in PostgreSQL, and the one line that names it. */
const POSTGRES = /^receiver\/postgres\//;
const POSTGRES_LINE = /^.*import\("\.\.\/postgres\/server\.ts"\).*\n/m;

/**
 * Tests that stay with the kit, of parts that an owner uses and does not change: the contract, small tools, the server below
 * the app, what other frameworks do in front of it, how its processes start and stop, the REST API. A fork has the suite
 * that defines the store, the table of answers, crashes, and what its handlers, settings and operators meet.
 */
const KIT_TESTS =
  /^test\/(?:shared\/(?:contract|drain|host|node-version|server|text)|receiver\/(?:clock|config-files|intake\/(?:adapters|properties|slow-clients)|operations\/(?:doctor|page-bounds|reconcile|rest-client)|store\/(?:causes|private-file)|whole\/(?:output|roles|signals)|work\/(?:bench|call-service|messages|module|limits|supervisor)))\.test\.ts$/;

/** Only in a fork that asked for it. */
export type Parts = { library: boolean; postgres?: boolean };

/** The fork's own files, by their templates. */
const MADE: Record<string, string> = {
  "README.md": "README.md",
  "AGENTS.md": "AGENTS.md",
  "vitest.config.ts": "vitest.config.ts",
  ".gitignore": "gitignore",
  ".dockerignore": "dockerignore",
  Dockerfile: "Dockerfile",
  ".github/workflows/ci.yml": "ci.yml",
};

/**
 * Every file of a fork, by its path. `kit` is the folder of the kit, with a slash at its end. Without `library` it only runs
 * as a service, without `postgres` only on SQLite.
 */
export function forkFiles(
  kit: string,
  name: string,
  { library, postgres = false }: Parts,
): Map<string, string> {
  const files = new Map(
    [...TAKEN, ...(postgres ? ["docs/scaling.md"] : [])]
      .flatMap((path) => filesIn(kit, path))
      .filter((path) => (library || !LIBRARY.test(path)) && (postgres || !POSTGRES.test(path)))
      .map((path) => [path, readFileSync(kit + path, "utf8")]),
  );
  if (!postgres) change(files, "receiver/store/open.ts", POSTGRES_LINE);
  const manifest = manifestSchema.parse(readJson(`${kit}package.json`));
  const installed = [...sourcesOf(files).values()].flatMap(importsOf).map(packageOf);
  const tests = [...filesIn(kit, "test/receiver"), ...filesIn(kit, "test/shared")]
    .filter((path) => !KIT_TESTS.test(path))
    .toSorted();
  for (const [path, text] of ownTests(kit, tests, { has: (one) => files.has(one), dependencies: installed }))
    files.set(path, text);
  const own = forkManifest(manifest, { name, sources: sourcesOf(files) });
  files.set("package.json", asJson(own));

  const { version, license, workspaces, dependencies, devDependencies, engines } = own;
  files.set(
    "package-lock.json",
    asJson(
      pruneLockfile(lockfileSchema.parse(readJson(`${kit}package-lock.json`)), {
        name,
        version,
        license,
        workspaces,
        dependencies,
        devDependencies,
        engines,
      }),
    ),
  );

  // Our code needs only type stripping; tsx, which supports all of TypeScript, runs a fork's handlers.
  change(files, "tsconfig.json", /^ *"(?:erasableSyntaxOnly|rewriteRelativeImportExtensions)": true,\n/gm);

  const words = { NAME: name, KIT_VERSION: manifest.version };
  for (const [path, template] of Object.entries(MADE)) {
    const text = readFileSync(join(import.meta.dirname, "template", `${template}.template`), "utf8");
    files.set(
      path,
      text.replaceAll(/\{\{(NAME|KIT_VERSION)\}\}/g, (_, word: keyof typeof words) => words[word]),
    );
  }
  for (const [path, page] of files)
    if (path.endsWith(".md")) files.set(path, withoutDeadLinks(path, page, files));
  return new Map([...files].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function sourcesOf(files: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...files].filter(([path]) => path.endsWith(".ts")));
}

/** Removes the matching text from a file, and throws if nothing matches. */
function change(files: Map<string, string>, path: string, without: RegExp): void {
  const text = files.get(path) ?? "";
  const left = text.replace(without, "");
  if (left === text) throw new Error(`${path} has nothing like ${without.source}.`);
  files.set(path, left);
}

function filesIn(root: string, path: string): string[] {
  if (/\.[^/]*$|^LICENSE$/.test(path)) return [path];
  return readdirSync(root + path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replaceAll("\\", "/"));
}

/** Links to pages that are left out become plain text; a link in brackets is removed with its brackets. */
function withoutDeadLinks(path: string, page: string, files: ReadonlyMap<string, string>): string {
  const paths = [...files.keys()];
  const isThere = (target: string): boolean => {
    if (target === "" || /^https?:/.test(target)) return true;
    const file = posix.join(posix.dirname(path), target);
    return paths.some((one) => one === file || one.startsWith(`${file.replace(/\/$/, "")}/`));
  };
  return page
    .replaceAll(/ \(\[[^\]]+\]\(([^)\s#]*)(?:#[^)\s]*)?\)\)/g, (aside, target: string) =>
      isThere(target) ? aside : "",
    )
    .replaceAll(/\[([^\]]+)\]\(([^)\s#]*)(?:#[^)\s]*)?\)/g, (link, words: string, target: string) =>
      isThere(target) ? link : words,
    );
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
