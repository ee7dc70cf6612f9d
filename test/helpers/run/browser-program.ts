import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import chromium from "@sparticuz/chromium";
import { chromium as playwright, type BrowserServer } from "playwright-core";
import { z } from "zod";

const manifestSchema = z.object({ devDependencies: z.object({ "@sparticuz/chromium": z.string() }) });

/** Starts the Chromium of the npm package, for any number of clients. */
export async function startBrowser(): Promise<BrowserServer> {
  return playwright.launchServer({
    executablePath: await unpacked(),
    host: "127.0.0.1",
    args: ["--no-sandbox"],
    // As in a user's browser: pages stay cached for the Back button.
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
    // The test runner handles signals and ends the browser.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
}

/**
 * The path of the unpacked browser. The package unpacks into the temporary directory and takes any existing file for a
 * complete one, so two runs at once, or a killed one, would return half a browser: we unpack it elsewhere and then move
 * it into place in one step.
 */
async function unpacked(): Promise<string> {
  const { devDependencies } = manifestSchema.parse(JSON.parse(readFileSync("package.json", "utf8")));
  const place = join(ownFolder(), `chromium-${devDependencies["@sparticuz/chromium"]}`);
  const executable = join(place, "chromium");
  if (existsSync(executable)) return executable;
  const aside = mkdtempSync(`${place}-`);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = aside;
  try {
    await chromium.executablePath();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
  try {
    renameSync(aside, place);
  } catch {
    // Another run was faster.
    rmSync(aside, { recursive: true, force: true });
  }
  return executable;
}

/** A folder where no other user can place a program that we would start: in the checkout, or new for this run. */
function ownFolder(): string {
  const cache = resolve("node_modules/.cache");
  try {
    mkdirSync(cache, { recursive: true });
    accessSync(cache, constants.W_OK);
    return cache;
  } catch {
    return mkdtempSync(join(tmpdir(), "voice-agent-"));
  }
}
