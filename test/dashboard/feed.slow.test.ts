import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard, scrollDown } from "./open-dashboard.ts";

const browser = useBrowser();
/** Several pages of the list. */
const DELIVERIES = 1_200;
const MOST_ROWS_IN_PAGE = 60;

test("thousands of deliveries can be scrolled to, and only the visible rows are rendered", async () => {
  const { url, simulator } = await openDashboard({
    calls: 0,
    send: () => Promise.resolve({ outcome: { status: 200 }, durationMs: 1 }),
  });
  register(simulator, "http://localhost:1/never-asked");
  const [oldest] = emit(simulator, "voicemail.created");
  emit(simulator, "call.completed", DELIVERIES - 2);
  const [newest] = emit(simulator, "booking.created");
  await simulator.settled();
  const page = await browser.openPage(url);
  const rows = page.locator(".windowed > li");
  await rows.locator(`[href$="${newest}"]`).waitFor();

  // To the very end, through every page of the list.
  const end = page.getByText(`${DELIVERIES.toLocaleString("en")} rows in all.`);
  while (!(await end.isVisible())) {
    await scrollDown(page);
    expect(await rows.count()).toBeLessThan(MOST_ROWS_IN_PAGE);
  }
  await scrollDown(page);
  await rows.locator(`[href$="${oldest}"]`).waitFor();
  expect(await rows.count()).toBeLessThan(MOST_ROWS_IN_PAGE);

  // New rows wait at the top, and the visible rows don't move.
  const before = await rows.locator(`[href$="${oldest}"]`).boundingBox();
  emit(simulator, "order.created", 3);
  await page.getByRole("button", { name: "3 new rows" }).waitFor();
  expect(await rows.locator(`[href$="${oldest}"]`).boundingBox()).toEqual(before);
  await page.getByRole("button", { name: "3 new rows" }).click();
  await page.locator(".windowed .type-mark.order-created").first().waitFor();

  // Filters apply to all deliveries, not only to the loaded ones.
  await page.getByLabel("Search deliveries").fill(`${oldest}`);
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByLabel("Search deliveries").fill("");
  await page.getByLabel("Type").selectOption("booking.created");
  await expect.poll(() => rows.count()).toBe(1);
  expect(page.url()).toContain("type=booking.created");
}, 180_000);

test("everything in the list can be done from the keyboard", async () => {
  const { url, simulator } = await openDashboard();
  const receiver = await startEndpoint(200);
  register(simulator, receiver.url);
  const ids = emit(simulator, "call.completed", 40).toReversed();
  await receiver.until(40);
  const page = await browser.openPage(url);
  await page.locator(".windowed > li").first().waitFor();
  const focused = () =>
    page.evaluate("document.activeElement.getAttribute('href') ?? document.activeElement.tagName");

  // Two key presses reach the list from the top of the page.
  for (const key of ["Tab", "Enter"]) await page.keyboard.press(key);
  await expect.poll(() => page.evaluate("document.activeElement.ariaLabel")).toMatch(/^Choose: /);
  await page.evaluate("document.activeElement.blur()");
  await page.keyboard.press("j");
  await expect.poll(focused).toBe(`/dashboard/deliveries/${ids[0]}`);
  for (const id of ids.slice(1, 30)) {
    await page.keyboard.press("j");
    await expect.poll(focused).toBe(`/dashboard/deliveries/${id}`);
  }
  await page.keyboard.press("k");
  await expect.poll(focused).toBe(`/dashboard/deliveries/${ids[28]}`);
  await page.keyboard.press("Enter");
  await page.getByText("A correct receiver accepts this signature.").waitFor();
  expect(page.url()).toContain(ids[28]);
  await page.keyboard.press("u");
  await page.getByRole("heading", { name: "Live" }).waitFor();
});
