import { execFile } from "node:child_process";
import { once } from "node:events";
import { cpSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { createServer as createPostgres, type PostgresServer } from "../../../tools/postgres-server.ts";
import { makeDirectory } from "../../receiver/helpers/temporary.ts";
import type { BrowserServer } from "playwright-core";
import { freePort } from "../free-port.ts";
import { reportCosts } from "./costs.ts";

/**
 * Shared by all test files: one PostgreSQL server, one browser, and the packages of the mounted examples, each started or
 * installed at the first request.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = makeDirectory();
  let postgres: Promise<PostgresServer> | undefined;
  let browser: Promise<BrowserServer> | undefined;
  let mounted: Promise<string> | undefined;
  const addressOf = async (path: string | undefined): Promise<string> => {
    if (path === "/browser") {
      // Loaded on demand, because it is large.
      browser ??= import("./browser-program.ts").then(async ({ startBrowser }) => startBrowser());
      return (await browser).wsEndpoint();
    }
    if (path === "/mounted") return (mounted ??= install("examples/mounted", "node_modules/.cache/mounted"));
    const port = await freePort();
    return (await (postgres ??= createPostgres(directory, { port }))).url();
  };
  const programs = createServer((request, response) => {
    // A keep-alive connection may close just when the next test file uses it.
    response.setHeader("connection", "close");
    addressOf(request.url).then(
      (address) => response.end(address),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  programs.listen(0, "127.0.0.1");
  await once(programs, "listening");
  const { port } = programs.address() as AddressInfo;
  project.provide("sharedPrograms", `http://127.0.0.1:${String(port)}`);

  return async () => {
    // If it did not start, its tests have already failed.
    const server = await postgres?.catch(() => undefined);
    reportCosts(project.vitest, { alsoOf: server ? [await server.pid()] : [] });
    await (await browser?.catch(() => undefined))?.close();
    await server?.stop("immediate");
    programs.closeAllConnections();
    programs.close();
    await rm(directory, { recursive: true, force: true });
  };
}

/**
 * Copies a folder to a place where no test runs its programs, and installs its packages there from its lockfile, unless
 * they are there. Returns the folder's path.
 */
async function install(from: string, to: string): Promise<string> {
  const [wanted, there] = [`${from}/package-lock.json`, `${to}/node_modules/.package-lock.json`].map(
    (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs,
  );
  cpSync(from, to, { recursive: true, filter: (source) => !source.endsWith("node_modules") });
  const words = ["ci", "--prefix", to, "--ignore-scripts", "--no-audit", "--no-fund"];
  if (wanted === undefined || there === undefined || there < wanted) await promisify(execFile)("npm", words);
  return resolve(to);
}
