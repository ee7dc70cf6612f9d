import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";

import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const send = () => Promise.resolve({ outcome: { status: 200 } as const, durationMs: 40 });

test("a phone number is found as it is printed, fields are offered, and what was found is marked", async () => {
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
  // What comes in while one searches is looked at, too.
  emit(simulator, "order.created");
  emit(simulator, "booking.created");
  await expect.poll(() => rows.count()).toBe(4);
});

test("the list, its counts and its chart are of a period, and a slot of the chart becomes the period", async () => {
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
  await page.getByRole("button", { name: "What the list shows" }).click();
  await page.getByLabel("A chart of what was sent").check();
  await page.getByLabel("Event type").uncheck();
  await page.getByRole("button", { name: "Done" }).click();
  const chart = page.locator(".history svg");
  await expect
    .poll(() => chart.getAttribute("aria-label"))
    .toMatch(/^5 attempts: 5 acknowledged, 0 failed; .* 40 ms$/);
  await expect.poll(() => page.locator(".feed-row .type-word").first().isVisible()).toBe(false);

  await page.getByLabel("Time", { exact: true }).selectOption("the last hour");
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
  expect(await page.locator(".feed-row .type-word").first().isVisible()).toBe(false);
});

test("what is loaded again by a timer is the period that is shown by then", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint(200);
  register(simulator, receiver.url);
  const page = await browser.openPage("about:blank");
  await page.clock.install();
  await page.goto(url);
  await page.getByRole("button", { name: "What the list shows" }).click();
  await page.getByLabel("A chart of what was sent").check();
  await page.getByRole("button", { name: "Done" }).click();
  emit(simulator, "order.created", 2);
  await simulator.settled();
  await page.getByRole("button", { name: "All 2" }).waitFor();
  let asked = 0;
  const released = Promise.withResolvers<void>();
  await page.route(/\/control\/history/, async (route) => {
    asked += 1;
    await released.promise;
    await route.continue();
  });
  // What has just come is asked for again in a while; meanwhile one looks at another period.
  await page.getByLabel("Time", { exact: true }).selectOption("the last hour");
  await expect.poll(() => asked).toBeGreaterThan(0);
  await page.clock.runFor(2_000);
  released.resolve();
  await page.getByRole("button", { name: "All 2" }).waitFor();
});

test("rows are chosen by their mark, by a key, and by a range, and sent again", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint(200);
  register(simulator, receiver.url);
  const ids = emit(simulator, "call.completed", 6).toReversed();
  await receiver.until(6);
  const page = await browser.openPage(url);
  const rows = page.locator(".windowed > li");
  await expect.poll(() => rows.count()).toBe(6);
  await rows.nth(1).locator(".verdict-mark").click();
  await page.getByText("1 delivery chosen").waitFor();
  expect(page.url()).not.toContain("/deliveries/");
  await rows
    .nth(3)
    .locator("a")
    .click({ modifiers: ["Shift"] });
  await page.getByText("3 deliveries chosen").waitFor();
  await rows.nth(2).locator(".verdict-mark").click();
  for (const key of ["j", "j", "x"]) await page.keyboard.press(key);
  const chosen = page.locator(".feed-row.picked");
  await expect.poll(() => chosen.count()).toBe(3);
  await page
    .getByRole("group", { name: "Chosen deliveries" })
    .getByRole("button", { name: "Send again" })
    .click();
  await receiver.until(9);
  await expect.poll(() => chosen.count()).toBe(0);
  const sent = receiver.received
    .slice(6)
    .map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
  const events = new Set(ids.map((id) => simulator.deliveries.find(id)?.eventId));
  expect(new Set(sent).size).toBe(3);
  expect(sent.every((id) => events.has(id))).toBe(true);
});

test("a page that is loaded again shows the same place in the list, however far down", async () => {
  const { url, simulator } = await openDashboard({ calls: 0, send });
  register(simulator, "http://localhost:1/never-asked");
  emit(simulator, "call.completed", 400);
  await simulator.settled();
  const page = await browser.openPage(url);
  await page.locator(".windowed > li").first().waitFor();
  /** Which row stands at the top. */
  const first = async () =>
    page.evaluate(`[...document.querySelectorAll(".windowed > li")].find((row) =>
      row.getBoundingClientRect().bottom > document.querySelector(".scroller").getBoundingClientRect().top + 1
    )?.dataset.index`);
  // Further pages of the list come when the end of one is near.
  await expect
    .poll(async () => {
      await page.evaluate("document.querySelector('.scroller').scrollTop = 300 * 40");
      return first();
    })
    .toBe("300");
  // What is new stands above it.
  emit(simulator, "order.created", 5);
  await page.getByRole("button", { name: "5 new rows" }).waitFor();
  await page.reload();
  await expect.poll(first).toBe("305");
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
