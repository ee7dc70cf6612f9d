import { z } from "zod";

const versions = z.record(z.string(), z.string()).optional();

const packageSchema = z.looseObject({
  dependencies: versions,
  devDependencies: versions,
  optionalDependencies: versions,
  peerDependencies: versions,
  peerDependenciesMeta: z.record(z.string(), z.looseObject({ optional: z.boolean().optional() })).optional(),
  workspaces: z.array(z.string()).optional(),
  link: z.boolean().optional(),
  resolved: z.string().optional(),
});
type LockedPackage = z.infer<typeof packageSchema>;

/** A package-lock.json of version 3, and every field of it. */
export const lockfileSchema = z.looseObject({
  lockfileVersion: z.literal(3),
  packages: z.record(z.string(), packageSchema),
});
export type Lockfile = z.infer<typeof lockfileSchema>;

/** npm's marks on a package: the only kinds of dependency through which it is reached. */
const FLAGS = ["dev", "optional", "devOptional", "peer"] as const;

type Edge = { name: string; kinds: Kind[] };
type Kind = "dev" | "optional" | "peer";

/**
 * The part of a lockfile that another root package needs, each package unchanged: it installs exactly the files that were
 * tested here. `root` is that package's entry, and only needs locked packages.
 */
export function pruneLockfile(
  lockfile: Lockfile,
  root: LockedPackage & { name: string; version: string },
): Lockfile {
  const packages: Lockfile["packages"] = { ...lockfile.packages, "": root };
  const all = reach(packages, []);
  const withoutKind = (...kinds: Kind[]) => reach(packages, kinds);
  const [notDev, notOptional, notPeer, neither] = [
    withoutKind("dev"),
    withoutKind("optional"),
    withoutKind("peer"),
    withoutKind("dev", "optional"),
  ];
  const kept = Object.keys(packages)
    .filter((folder) => all.has(folder))
    .map((folder): [string, LockedPackage] => {
      if (!folder.includes("node_modules/") || packages[folder]?.link === true) {
        return [folder, withFlags(packages[folder] ?? {}, {})];
      }
      const flags = {
        dev: !notDev.has(folder),
        optional: !notOptional.has(folder),
        devOptional: notDev.has(folder) && notOptional.has(folder) && !neither.has(folder),
        peer: !notPeer.has(folder),
      };
      return [folder, withFlags(packages[folder] ?? {}, flags)];
    });
  const { name, version } = root;
  return { name, version, lockfileVersion: 3, requires: true, packages: Object.fromEntries(kept) };
}

/** The folders of all packages reached from the root without the excluded kinds of dependency. */
function reach(packages: Lockfile["packages"], without: readonly Kind[]): Set<string> {
  const workspaces = packages[""]?.workspaces ?? [];
  const links = Object.entries(packages).filter(
    ([, { link, resolved = "" }]) => link === true && workspaces.includes(resolved),
  );
  const reached = new Set(["", ...links.map(([folder]) => folder)]);
  for (const folder of reached) {
    const here = packages[folder] ?? {};
    if (here.link === true) reached.add(here.resolved ?? "");
    for (const { name, kinds } of edgesOf(here, folder)) {
      const target = candidateFolders(folder, name).find((candidate) => packages[candidate] !== undefined);
      if (target !== undefined && !kinds.some((kind) => without.includes(kind))) reached.add(target);
    }
  }
  return reached;
}

/** Optional peer dependencies are not installed for us: they exist only if another package installs them. */
function edgesOf(one: LockedPackage, folder: string): Edge[] {
  const edges = (wanted: Record<string, string> | undefined, kinds: Kind[]): Edge[] =>
    Object.keys(wanted ?? {}).map((name) => ({ name, kinds }));
  return [
    ...edges(one.dependencies, []),
    ...edges(one.optionalDependencies, ["optional"]),
    ...edges(one.peerDependencies, ["peer"]).filter(
      ({ name }) => one.peerDependenciesMeta?.[name]?.optional !== true,
    ),
    ...(folder === "" ? edges(one.devDependencies, ["dev"]) : []),
  ];
}

/** Where Node.js looks for `name` from a package in `folder`: in it, then in each package around it. */
export function candidateFolders(folder: string, name: string): string[] {
  const parts = folder === "" ? [] : folder.split("/node_modules/");
  const around = parts.map((_, index) => `${parts.slice(0, index + 1).join("/node_modules/")}/`);
  return [...around.toReversed(), ""].map((prefix) => `${prefix}node_modules/${name}`);
}

function withFlags(
  one: LockedPackage,
  flags: Partial<Record<(typeof FLAGS)[number], boolean>>,
): LockedPackage {
  const plain = Object.entries(one).filter(([key]) => !FLAGS.some((flag) => flag === key));
  const raised = Object.entries(flags).filter(([, isRaised]) => isRaised);
  return Object.fromEntries([...plain, ...raised].toSorted(byNpmsOrder));
}

/** The order of npm, so that npm changes nothing when it next writes the file. */
function byNpmsOrder([one, oneValue]: [string, unknown], [other, otherValue]: [string, unknown]): number {
  const first = ["name", "version", "resolved", "integrity"];
  const rank = (key: string, value: unknown): number => {
    if (first.includes(key)) return first.indexOf(key);
    if (typeof value !== "object" || Array.isArray(value)) return first.length;
    return first.length + (key === "dependencies" ? 1 : 2);
  };
  return rank(one, oneValue) - rank(other, otherValue) || (one < other ? -1 : 1);
}
