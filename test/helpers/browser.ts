import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import {
  chromium as playwright,
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from "playwright-core";
import { beforeAll, expect, onTestFinished } from "vitest";

/** What a page complained about: errors of scripts, and whatever the Content-Security-Policy had to stop. */
export type Complaints = { errors: string[]; violations: string[] };

/** A page that notes every complaint, and fails its test if there was one. */
export type WatchedPage = Page & { complaints: Complaints };

/** How long a page may take for one step on a busy machine; `expect.poll` gives it as long. */
const STEP_MS = 30_000;

/** Of this worker, for all of its files: starting one takes more than most tests do. It ends with the worker. */
let started: Promise<Browser> | undefined;

/** Starts the Chromium of the npm package before the tests of a file; `openPage` gives each test pages of its own. */
export function useBrowser() {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await (started ??= start());
  }, 60_000);

  return {
    /** `script` runs in the page before any script of its own. */
    async openPage(
      url: string,
      { script, ...options }: BrowserContextOptions & { script?: string } = {},
    ): Promise<WatchedPage> {
      if (browser === undefined) throw new Error("The browser starts before the tests.");
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        reducedMotion: "reduce",
        ...options,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(STEP_MS);
      const complaints = await watch(page);
      if (script !== undefined) await page.addInitScript({ content: script });
      onTestFinished(async () => {
        await context.close();
        expect(complaints).toEqual({ errors: [], violations: [] });
      });
      await page.goto(url);
      return Object.assign(page, { complaints });
    },
  };
}

async function start(): Promise<Browser> {
  const browser = await playwright.launch({
    executablePath: await unpackedChromium(),
    args: ["--no-sandbox"],
    // Signals are for what is tested in this process: Playwright would take them as its own, and end the process.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  browser.once("disconnected", () => (started = undefined));
  return browser;
}

/** Waits until something can be seen. */
export async function expectShown(locator: Locator): Promise<void> {
  await locator.waitFor();
}

async function watch(page: Page): Promise<Complaints> {
  const complaints: Complaints = { errors: [], violations: [] };
  page.on("pageerror", (error) => complaints.errors.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.errors.push(`A script opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.exposeFunction("reportViolation", (text: string) => void complaints.violations.push(text));
  await page.addInitScript({
    content: `document.addEventListener("securitypolicyviolation", (event) =>
      reportViolation(event.violatedDirective + ": " + event.blockedURI + " " + event.sample))`,
  });
  return complaints;
}

/**
 * The path of the unpacked browser. The package unpacks into the temporary directory and takes a file that is there for
 * a whole one, so several workers at once, or one that was killed meanwhile, would hand out half a browser: it is
 * unpacked aside and moved into place in one step.
 */
async function unpackedChromium(): Promise<string> {
  const packageFile = new URL("../package.json", import.meta.resolve("@sparticuz/chromium"));
  const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
  const place = join(tmpdir(), `voice-agent-chromium-${version}`);
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
    // Another worker was faster.
    rmSync(aside, { recursive: true, force: true });
  }
  return executable;
}
