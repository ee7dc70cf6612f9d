import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { findServer } from "../../../tools/postgres-server.ts";
import { makeDirectory } from "../../receiver/helpers/temporary.ts";

declare module "vitest" {
  export interface ProvidedContext {
    postgresDirectory: string;
    /** The process of the whole run, with which the server ends. */
    postgresOwner: number;
  }
}

/** A place for the server that all test files share. The first file that needs it starts it; here it only ends. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = makeDirectory();
  project.provide("postgresDirectory", directory);
  project.provide("postgresOwner", process.pid);
  return async () => {
    if (existsSync(join(directory, "data/postmaster.pid"))) {
      const [, , , port] = (await readFile(join(directory, "data/postmaster.pid"), "utf8")).split("\n");
      const server = await findServer(directory, Number(port));
      await server.stop("immediate");
    }
    await rm(directory, { recursive: true, force: true });
  };
}
