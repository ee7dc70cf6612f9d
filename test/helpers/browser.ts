import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from "playwright-core";
import { beforeAll, expect, onTestFinished } from "vitest";
import { sharedProgram } from "./run/shared-program.ts";

/** The complaints of a page: errors of scripts, and violations of the Content-Security-Policy. */
export type Complaints = { errors: string[]; violations: string[] };

/** A page that records every complaint, and fails its test if there was one. */
export type WatchedPage = Page & { complaints: Complaints };

/** How long a page may take for one step on a busy machine; also the time-out of `expect.poll`. */
const STEP_MS = 30_000;

/** This worker's connection to the browser of the whole run: starting one takes longer than most tests. */
let connected: Promise<Browser> | undefined;

/** The browser of the whole run, for the tests of a file; `openPage` gives each test its own pages. */
export function useBrowser() {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await (connected ??= connect());
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

async function connect(): Promise<Browser> {
  const browser = await chromium.connect(await sharedProgram("browser"));
  browser.once("disconnected", () => (connected = undefined));
  return browser;
}

/** Waits until an element is visible. */
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
