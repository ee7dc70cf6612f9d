import { expect, test } from "vitest";
import { pruneLockfile } from "../../tools/fork/lockfile.ts";

test("a pruned lockfile keeps the needed packages in place, and marks how they are reached", () => {
  const optional = {
    peerDependencies: { brought: "1", absent: "1" },
    peerDependenciesMeta: { absent: { optional: true } },
  };
  const packages = {
    "": {},
    "node_modules/used": { dependencies: { inner: "1" }, dev: true },
    "node_modules/used/node_modules/inner": {},
    "node_modules/inner": {},
    "node_modules/tool": { ...optional, optionalDependencies: { extra: "1" } },
    "node_modules/brought": {},
    "node_modules/absent": {},
    "node_modules/extra": {},
    "node_modules/other": {},
  };
  const root = {
    name: "fork",
    version: "0.1.0",
    dependencies: { used: "1" },
    devDependencies: { tool: "1" },
  };
  const pruned = pruneLockfile({ lockfileVersion: 3, packages }, root);
  expect(pruned).toMatchObject({ name: "fork", version: "0.1.0", lockfileVersion: 3 });
  expect(pruned.packages).toEqual({
    "": root,
    "node_modules/used": { dependencies: { inner: "1" } },
    "node_modules/used/node_modules/inner": {},
    "node_modules/tool": { ...optional, optionalDependencies: { extra: "1" }, dev: true },
    "node_modules/brought": { dev: true, peer: true },
    "node_modules/extra": { dev: true, optional: true },
  });
});
