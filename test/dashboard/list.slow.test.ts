import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";

import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const send = () => Promise.resolve({ outcome: { status: 200 } as const, durationMs: 40 });

test("a phone number is found in its printed form, fields are suggested, and matches are highlighted", async () => {
  const { url, simulator } = await openDashboard({ calls: 0, send });
  register(simulator, "http://localhost:1/never-asked");
  emit(simulator, "order.created", 3);
  simulator.events.emit({ type: "call.completed", object: { phone: "+12125550194" } });
  await simulator.settled();
  const page = await browser.openPage(url);
  const rows = page.locator(".windowed a[href*='/deliveries/']");
  const search = page.getByLabel("Search deliveries");
  await expect.poll(() => rows.count()).toBe(4);
  await search.fill("(212) 555-0194");
  await expect.poll(() => rows.count()).toBe(1);
  const marked = `[...(CSS.highlights.get("search") ?? [])].map(String)`;
  await expect.poll(() => page.evaluate(marked)).toEqual(["12125550194".slice(1)]);

  await search.fill("status:200 ty");
  const offered = page.locator("datalist option");
  await expect.poll(() => offered.count()).toBe(1);
  expect(await offered.getAttribute("value")).toBe("status:200 type:");
  await search.fill("status:200 type:order.created");
  await expect.poll(() => rows.count()).toBe(3);
  // Deliveries that arrive during a search are searched, too.
  emit(simulator, "order.created");
  emit(simulator, "booking.created");
  await expect.poll(() => rows.count()).toBe(4);
});

test("list, counts and chart show the same period, and a click on a bar of the chart selects its period", async () => {
  const { url, simulator } = await openDashboard({ calls: 0, send });
  const origin = new URL(url).origin;
  register(simulator, "http://localhost:1/never-asked");
  emit(simulator, "order.created", 2);
  await simulator.settled();
  await control(origin, "POST", "/clock/advance", { seconds: 7_200 });
  emit(simulator, "voicemail.created", 3);
  await simulator.settled();
  const page = await browser.openPage(url);
  const rows = page.locator(".windowed a[href*='/deliveries/']");
  await expect.poll(() => rows.count()).toBe(5);
  const chart = page.locator(".history svg");
  await expect
    .poll(() => chart.getAttribute("aria-label"))
    .toMatch(/^5 attempts: 5 acknowledged, 0 failed; .* 40 ms$/);
  await page.locator(".legend").getByText("acknowledged failed").waitFor();

  await page.getByLabel("Time", { exact: true }).selectOption("created in the last hour");
  await expect.poll(() => rows.count()).toBe(3);
  await page.getByRole("button", { name: "All 3" }).waitFor();
  await page.getByLabel("Time", { exact: true }).selectOption("");
  await expect.poll(() => rows.count()).toBe(5);
  await expect.poll(() => chart.getAttribute("aria-label")).toMatch(/^5 attempts/);
  await chart.locator("g").first().click();
  await expect.poll(() => rows.count()).toBe(2);
  expect(page.url()).toContain("since=");
  await page.reload();
  await expect.poll(() => rows.count()).toBe(2);
});

test("on a phone the list keeps its scroll position after a delivery was opened", async () => {
  const { url, simulator } = await openDashboard({ calls: 0, send });
  register(simulator, "http://localhost:1/never-asked");
  emit(simulator, "call.completed", 60);
  await simulator.settled();
  const page = await browser.openPage(url, { viewport: { width: 390, height: 844 } });
  await page.locator(".windowed > li").first().waitFor();
  await page.evaluate("document.querySelector('.scroller').scrollTop = 30 * 48");
  const row = page.locator(".windowed [data-index='33'] .feed-row");
  const before = await row.boundingBox();
  await row.click();
  await page.getByText("A correct receiver accepts this signature.").waitFor();
  expect(await row.isVisible()).toBe(false);
  await page.goBack();
  await expect.poll(() => row.boundingBox()).toEqual(before);
});

test("on a phone docs, shortcuts and theme are behind one button", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await browser.openPage(url, { viewport: { width: 390, height: 844 } });
  const more = page.getByRole("button", { name: "More: go to, docs, shortcuts, theme" });
  await more.click();
  await page.getByRole("dialog", { name: "More" }).getByRole("button", { name: "Theme: auto" }).click();
  expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("light");
  await more.click();
  await page.getByRole("dialog", { name: "More" }).getByRole("link", { name: "API docs" }).click();
  await page.getByRole("heading", { level: 1, name: "API docs" }).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
});
