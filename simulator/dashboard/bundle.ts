import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Metafile } from "esbuild";

/** The dashboard for the browser: the page, with its styles, and its files, whose names change with their content. */
export type Bundle = { page: string; files: ReadonlyMap<string, Uint8Array> };

const APP = fileURLToPath(new URL("app", import.meta.url));
/** The output of `npm run build` beside this file: a published package has no source. */
const BUILT = fileURLToPath(new URL("built", import.meta.url));
const PAGE = "index.html";

let made: Promise<Bundle> | undefined;

/** The dashboard as it was published or, in a working copy, as its source was at the first load. */
export function currentBundle(): Promise<Bundle> {
  return (made ??= existsSync(APP) ? bundle() : readBuilt());
}

async function readBuilt(): Promise<Bundle> {
  const names = readdirSync(BUILT).filter((name) => name !== PAGE);
  const files = new Map(names.map((name) => [name, readFileSync(join(BUILT, name))]));
  return { page: readFileSync(join(BUILT, PAGE), "utf8"), files };
}

/** Takes some 100 ms. The bundler is loaded with the first page, since many runs never show one. */
async function bundle(): Promise<Bundle> {
  const esbuild = await import("esbuild");
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: APP,
    // `later.tsx` imports `app.tsx`, so that the two have one script in common: that of the first page.
    entryPoints: ["app.tsx", "later.tsx", "styles.css", "icon.svg"],
    outdir: BUILT,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2024",
    // TSX as calls of `h`, which are shorter than compiler-generated ones.
    jsx: "transform",
    jsxFactory: "h",
    jsxFragment: "Fragment",
    inject: ["core/jsx.ts"],
    tsconfigRaw: "{}",
    charset: "utf8",
    legalComments: "none",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    publicPath: "/dashboard/assets",
    loader: { ".woff2": "file", ".svg": "copy", ".txt": "text" },
    // The errors are thrown.
    logLevel: "silent",
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  return { page: withFiles(readFileSync(join(APP, PAGE), "utf8"), metafile, files), files };
}

/** The page names files as they stand in the source; a bundle has other names for them, and puts the styles in. */
function withFiles(page: string, { outputs }: Metafile, files: Bundle["files"]): string {
  return Object.entries(outputs).reduce((text, [output, { inputs, imports, entryPoint }]) => {
    const name = basename(output);
    const source = basename(entryPoint ?? Object.keys(inputs)[0] ?? "");
    if (source === "styles.css")
      return text.replace(
        /<link rel="stylesheet".*?>/,
        () => `<style>${Buffer.from(files.get(name) ?? []).toString()}</style>`,
      );
    // An entry that others import is a stub: the script that it imports has all of it.
    const file = source === "app.tsx" ? basename(imports[0]?.path ?? output) : name;
    return text.replace(`"${source}"`, `"/dashboard/assets/${file}"`);
  }, page);
}
