import { expect, test } from "vitest";
import { AXE, expectAccessible } from "../helpers/axe.ts";
import { useBrowser, type WatchedPage } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { openDashboard, visit } from "./open-dashboard.ts";

const browser = useBrowser();
const NARROW = 320;
/** Present on every page: checked on the first and on the narrow one only. */
const SHELL = { exclude: [".side", ".top"] };

/** A phone, a small laptop and a large one; a run of some tests has that of the other tests. */
const WIDTHS = ALL ? [390, 1024, 1440] : [1280];

/** By their names: one page of each kind, since the others share its colours. */
const OF_EACH_KIND = ["not right", "Parse the header", "The receiver failed"];

type Listed = { id: string; event_id: string; attempts: unknown[] };

test("axe finds no problem on empty pages, light or dark", async () => {
  const { url } = await openDashboard({ calls: 12 });
  const page = await browser.openPage(url, { script: AXE });
  await page.getByText("No endpoint yet").waitFor();
  await expectAccessible(page);
  for (const [path, words] of [
    ["/endpoints", "No endpoint is registered"],
    ["/verify", "No report yet"],
    ["/nowhere", "This page does not exist"],
  ] as const) {
    await visit(page, path);
    await page.getByText(words).waitFor();
    await expectAccessible(page, SHELL);
  }
}, 180_000);

/** A dashboard with something on each page. */
async function openFilled(): Promise<{ page: WatchedPage; delivery: Listed; failed: Listed | undefined }> {
  const { url, simulator } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint((response, count) => {
    response
      .writeHead(count % 3 === 0 ? 200 : 500, { "content-type": "application/json" })
      .end(`{"n":${count}}`);
  });
  const registration = { url: receiver.url, faults: ["slow-body:1"] };
  const { body: endpoint } = await control<{ id: string }>(origin, "POST", "/endpoints", registration);
  await control(origin, "POST", "/endpoints", {
    url: "http://localhost:1/refused",
    event_types: ["call.completed"],
  });
  await control(origin, "POST", "/events", { type: "call.completed", count: 4 });
  await control(origin, "POST", "/clock/advance", { seconds: 600 });
  await control(origin, "POST", `/endpoints/${endpoint.id}/verify`, { only: ["acknowledgement"] });
  await expect.poll(() => simulator.verification.current()?.report?.verdict).toBe("failed");
  const { body } = await control<{ data: Listed[] }>(origin, "GET", "/deliveries");
  const [delivery] = body.data;
  const failed = body.data.find(({ attempts }) => attempts.length > 1);

  if (delivery === undefined) throw new Error("Nothing was delivered.");
  return { page: await browser.openPage(url, { script: AXE }), delivery, failed };
}

test("axe finds no problem on pages with data, light or dark", async () => {
  const { page, delivery } = await openFilled();
  const pages = [
    ["", "not right"],
    [`/deliveries/${delivery.id}`, "Parse the header"],
    [`/events/${delivery.event_id}`, "Envelope"],
    ["/endpoints", "in a row"],
    ["/endpoints?new", "listens there"],
    ["/trigger", "empty fields are generated"],
    ["/world", "in all"],
    ["/world/voicemails", "in all"],
    ["/world/agents", "Persona"],
    ["/readings", "limit_out_of_range"],
    ["/verify", "The receiver failed"],
    ["/docs", "In code"],
  ] as const;
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const [path, words] of pages) {
      if (!ALL && !OF_EACH_KIND.includes(words)) continue;
      await visit(page, path);
      await page.getByText(words).filter({ visible: true }).first().waitFor();
      await expectAccessible(page, SHELL);
    }
    await expectAccessible(page);
  }
}, 480_000);

test.runIf(ALL)(
  "axe finds no problem in the dialogs and panels of these pages, light or dark",
  async () => {
    const { page, failed } = await openFilled();
    const reach = async (path: string, ...steps: string[]) => {
      await visit(page, path);
      for (const step of steps) await page.locator(step).first().click();
      await expectAccessible(page, SHELL);
    };
    await reach("/verify", ".check-row.bad summary", ".check-row.ok summary");
    await reach(`/deliveries/${failed?.id}`, "text=Edit and send");
    await page.keyboard.press("Escape");
    await reach("/endpoints", "text=Rotate");
    await page.keyboard.press("Escape");
    await visit(page, "/docs");
    const trying = page.getByRole("form", { name: "Try /api/v1/calls" });
    await trying.getByRole("button", { name: "Send", exact: true }).click();
    await trying.getByText("200", { exact: true }).waitFor();
    await expectAccessible(page, SHELL);

    await visit(page, "/world/calls");
    await page.locator(".row").first().click();
    await page.getByRole("dialog").waitFor();
    await expectAccessible(page, SHELL);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Go to, or do" }).waitFor();
    await expectAccessible(page, SHELL);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await expectAccessible(page, SHELL);

    await page.setViewportSize({ width: 390, height: 800 });
    await visit(page, "");
    await page.locator(".feed-row").first().waitFor();
    await expectAccessible(page);
  },
  240_000,
);

test("in forced colours only what is selected (page, clock mode, tab, row, attempt) has a frame", async () => {
  const { page, delivery } = await openFilled();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ forcedColors: "active" });
  await visit(page, `/deliveries/${delivery.id}`);
  await page.getByText("Parse the header").waitFor();
  const framed = (within: string) =>
    page.evaluate<string[]>(`[...document.querySelectorAll("${within}")]
      .filter((one) => getComputedStyle(one).outlineStyle === "solid")
      .map((one) => one.textContent.slice(0, 4))`);
  expect(await framed(".side a, .top button, .list-pane button")).toEqual(["Live", "Manu", "All "]);
  expect(await framed(".feed-row, .slot-box")).toHaveLength(2);
  const dot = "getComputedStyle(document.querySelector('.connection .dot')).forcedColorAdjust";
  expect(await page.evaluate(dot)).toBe("none");
});

test("control: axe finds errors, even in the dark theme only", async () => {
  const page = await browser.openPage("about:blank", { script: AXE });
  const style = "<style>@media (prefers-color-scheme: dark) { p { color: #222; background: #000 } }</style>";
  await page.setContent(`<html lang="en"><title>t</title>${style}<main><h1>h</h1><p>dim</p></main></html>`);
  await expect(expectAccessible(page)).rejects.toThrow(
    /color-contrast.*dim[^]*in dark|in dark[^]*color-contrast/,
  );
});

test("no page is wider than a narrow screen", async () => {
  const { url } = await openDashboard({ calls: 12 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(500);
  await control(origin, "POST", "/endpoints", { url: `${receiver.url}/${"long-path-".repeat(20)}` });
  await control(origin, "POST", "/events", { type: "order.created" });
  await receiver.until(1);
  const { body } = await control<{ data: { id: string }[] }>(origin, "GET", "/deliveries");
  const page = await browser.openPage(url, { viewport: { width: NARROW, height: 700 } });
  const tooWide: string[] = [];
  for (const path of [
    "",
    `/deliveries/${body.data[0]?.id}`,
    "/endpoints",
    "/endpoints?new",
    "/trigger",
    "/world",
    "/docs",
    "/readings",
    "/verify",
  ]) {
    await visit(page, path);
    await page.locator("h1").waitFor();
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    if (width > NARROW) tooWide.push(`${path}: ${width} px`);
  }
  expect(tooWide).toEqual([]);
}, 180_000);
