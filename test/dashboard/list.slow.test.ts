import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const send = () => Promise.resolve({ outcome: { status: 200 } as const, durationMs: 40 });

test("a phone number is found in its printed form, and matches are highlighted", async () => {
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

  await search.fill("status:200 type:order.created");
  await expect.poll(() => rows.count()).toBe(3);
  // Deliveries that arrive during a search are searched, too.
  emit(simulator, "order.created");
  emit(simulator, "booking.created");
  await expect.poll(() => rows.count()).toBe(4);
});

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
