import { fileURLToPath } from "node:url";
import { delimiter, relative, sep } from "node:path";

export type OwnStart = { environment: NodeJS.ProcessEnv; file: string };

/** The folder that npm runs a checkout of the kit in, or that npx installs into. */
const CHECKOUT = /^(.*)[\\/]simulator[\\/]processes[\\/][^\\/]+\.ts$/;
const NPX = /^(.*[\\/]_npx[\\/][^\\/]+)[\\/]node_modules[\\/]/;
/** npm adds this folder after those of the project. */
const NODE_GYP = /[\\/]@npmcli[\\/]run-script[\\/]lib[\\/]node-gyp-bin$/;
const SET_BY_NPM = /^(?:npm_.*|INIT_CWD|NODE)$/i;

/**
 * The environment that a program of the user's is started with: as if the user had started it in the shell. Where npm runs
 * the kit's own script, or npx the package, its folders of programs (a Node.js among them) and its variables are taken out;
 * what the user's own npm script set stays.
 */
export function userEnvironment(start: OwnStart = ownStart()): NodeJS.ProcessEnv {
  const own = ownFolder(start.file);
  if (own === undefined) return start.environment;
  const isOwnScript =
    start.environment["npm_lifecycle_event"] === "npx" ||
    isWithin(own, start.environment["npm_package_json"] ?? "");
  const kept = Object.entries(start.environment).filter(([name]) => !(isOwnScript && SET_BY_NPM.test(name)));
  return Object.fromEntries(
    kept.map(([name, value = ""]) => [
      name,
      name.toUpperCase() === "PATH" ? withoutFolders(value, (folder) => isWithin(own, folder)) : value,
    ]),
  );
}

function withoutFolders(path: string, isOwn: (folder: string) => boolean): string {
  return path
    .split(delimiter)
    .filter((folder) => !isOwn(folder) && !NODE_GYP.test(folder))
    .join(delimiter);
}

/** Undefined where the package is installed in the user's project: its folder of programs is the user's. */
function ownFolder(file: string): string | undefined {
  const [, npx] = NPX.exec(file) ?? [];
  const [, checkout] = CHECKOUT.exec(file) ?? [];
  return npx ?? checkout;
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return path !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !/^[A-Za-z]:/.test(way);
}

function ownStart(): OwnStart {
  return { environment: process.env, file: fileURLToPath(import.meta.url) };
}
