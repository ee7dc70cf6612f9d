import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProcess } from "./helpers/process.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** Says at the end of a process that Node.js loaded its compiler of TypeScript, which is called amaro. */
const SAYS = `process.on("exit", () => {
  if (process.moduleLoadList.some((name) => name.includes("amaro"))) process.stderr.write("has the compiler\\n");
});`;

/** What Node.js says of its cache while a receiver starts, works and ends in order. */
async function saidOfTheCache(environment: Record<string, string> = {}): Promise<string> {
  const says = join(temporaryDirectory(), "says.cjs");
  writeFileSync(says, SAYS);
  const receiver = await startProcess({
    environment: {
      DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
      NODE_COMPILE_CACHE: "",
      NODE_DEBUG_NATIVE: "COMPILE_CACHE",
      NODE_OPTIONS: `--require ${says}`,
      ...environment,
    },
  });
  await expect
    .poll(async () => (await fetch(`${receiver.adminUrl}/metrics`)).text())
    .toContain("receiver_worker_up 1\n");
  receiver.child.kill("SIGTERM");
  expect(await receiver.exited).toEqual({ code: 0, signal: null });
  return receiver.errors.join("");
}

const read = (file: string) => new RegExp(String.raw`for StrippedTypeScript \S*/${file}\.{3}success`);

test("a second start of the program, its thread and the handlers' process compiles nothing", async () => {
  await saidOfTheCache();
  const said = await saidOfTheCache();
  for (const file of ["program.ts", "engines/sqlite/accept.ts", "work/handling.ts"])
    expect(said).toMatch(read(file));
  expect(said).not.toContain("has the compiler");
});

test("it is kept where the user wants it, or not at all", async () => {
  const folder = temporaryDirectory();
  expect(await saidOfTheCache({ NODE_COMPILE_CACHE: folder })).toContain(`${folder}/`);
  const withoutCache = await saidOfTheCache({ NODE_DISABLE_COMPILE_CACHE: "1" });
  expect(withoutCache).not.toMatch(read("program.ts"));
  expect(withoutCache).toContain("has the compiler");
});
