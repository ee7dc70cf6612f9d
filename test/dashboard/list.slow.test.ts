import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const send = () => Promise.resolve({ outcome: { status: 200 } as const, durationMs: 40 });

test("on a phone the list has kept its place when one comes back from a delivery", async () => {
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
