import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createObserver } from "../../simulator/observer/observer.ts";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { listen } from "../helpers/listen.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

/** A receiver that handles every delivery, forged or repeated, and reports it. */
async function startForgetful() {
  const handled = new Map<string, number>();
  const receiver = await startEndpoint((response, _count, { body }) => {
    const { id } = JSON.parse(String(body)) as { id: string };
    handled.set(id, (handled.get(id) ?? 0) + 1);
    response.writeHead(200).end();
  });
  const ledger = createServer((request, response) => {
    const id = request.url?.slice("/inbox/".length) ?? "";
    response.end(JSON.stringify({ state: "done", handled: handled.get(id) ?? 0, duplicates: 0 }));
  });
  const { url } = await listen(ledger);
  return { receiver, observer: createObserver(`${url}/inbox/{id}`) };
}

test("each delivery shows whether the receiver was correct, and a line at the top sums it up", async () => {
  const { url, simulator } = await openDashboard();
  const origin = new URL(url).origin;
  const { receiver, observer } = await startForgetful();
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  simulator.verdicts.observe(observer);
  const send = (type: string, faults: string[] = []) => control(origin, "POST", "/events", { type, faults });
  await send("call.completed");
  await send("order.created", ["bad-signature"]);
  await send("voicemail.created", ["drop-answer:1"]);
  await send("booking.created", ["duplicate"]);
  await control(origin, "POST", "/clock/advance", { seconds: 60 });
  const page = await browser.openPage(url);
  const rows = page.locator(".windowed a[href*='/deliveries/']");
  const row = (type: string) => rows.filter({ hasText: type });

  await row("call.completed").getByText("Acknowledged, handled once").waitFor();
  await row("order.created").getByText("Forged on purpose, and accepted").first().waitFor();
  await row("voicemail.created")
    .getByText("Answer lost on purpose, retried, handled twice")
    .first()
    .waitFor();
  const sum = page.getByRole("group", { name: "Verdicts" });
  await sum.getByRole("button", { name: "1 right", exact: true }).waitFor();
  await sum.getByRole("button", { name: "4 not right" }).waitFor();
  // A failure that we injected is not the receiver's: no red, no flag.
  const lost = row("voicemail.created");
  expect(await lost.locator(".slot-mark.purpose").count()).toBe(1);
  expect(await lost.locator(".slot-mark.failed").count()).toBe(0);
  expect(simulator.endpoints.list()[0]?.flagged).toBe(false);

  // The line filters the list; the verdict says why; the filter stays on the way to a delivery and back.
  await sum.getByRole("button", { name: "4 not right" }).click();
  await expect.poll(() => rows.count()).toBe(4);
  await page.locator(".windowed a", { hasText: "Duplicate, handled twice" }).first().click();
  const detail = page.getByRole("region", { name: "Delivery" });
  await detail.getByText("Insert the event id under a unique constraint").waitFor();
  await detail.getByText("The receiver says: done, handled twice.").waitFor();
  const shown = await detail.getByRole("link", { name: "Show it in the receiver" }).getAttribute("href");
  expect(shown).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/event\?id=evt_[0-9a-f]{32}$/);
  expect(page.url()).toContain("verdict=not");
  await page.keyboard.press("u");
  await detail.waitFor({ state: "detached" });
  expect(page.url()).toContain("verdict=not");
  await expect.poll(() => rows.count()).toBe(4);
});

test("in a list next to the delivery, keys move, clicks open, and the filters stay", async () => {
  const { url, simulator } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(200);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/endpoints", {
    url: `${receiver.url}/orders`,
    event_types: ["order.created"],
  });
  await control(origin, "POST", "/events", { type: "call.completed", count: 3 });
  await control(origin, "POST", "/events", { type: "order.created" });
  await simulator.settled();
  const ids = simulator.deliveries.page({ limit: 10 }).deliveries.map(({ id }) => id);
  const page = await browser.openPage(`${url}?state=delivered`);

  await page.locator(".feed-row", { hasText: "/orders" }).waitFor();
  await page.locator(".feed-row").first().click();
  const detail = page.getByRole("region", { name: "Delivery" });
  await detail.getByText("A correct receiver accepts this signature.").waitFor();
  const opened = () => /deliveries\/(\w+)\?state=delivered$/.exec(page.url())?.[1];
  expect(opened()).toBe(ids[0]);
  for (const id of ids.slice(1, 4)) {
    await page.keyboard.press("j");
    await expect.poll(opened).toBe(id);
    await page.locator(`.feed-row[aria-current][href*="${id}"]`).waitFor();
  }
  await page.keyboard.press("k");
  await expect.poll(opened).toBe(ids[2]);

  // Too narrow for both: first the delivery alone, then the list after Back.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("region", { name: "Deliveries", exact: true }).waitFor({ state: "hidden" });
  await page.getByRole("heading", { level: 1, name: "called" }).waitFor();
  await detail.getByRole("link", { name: "Live" }).click();
  await page.locator(".feed-row").first().waitFor();
  // The summary is not cut off on a phone.
  await page.locator(".verdict-sum").waitFor();
  const cutOff =
    "[...document.querySelectorAll('.verdict-sum')].map((sum) => sum.scrollWidth - sum.clientWidth)";
  expect(await page.evaluate(cutOff)).toEqual([0]);
  const chrome = await page.evaluate<number>(
    "innerHeight - document.querySelector('.scroller').clientHeight",
  );
  expect(chrome).toBeLessThan(320);
});

test("the clock asks before it skips waiting attempts, and its buttons don't move", async () => {
  const { url, simulator } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(500);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "call.completed" });
  const page = await browser.openPage(url);
  const clock = page.getByRole("region", { name: "Schedule clock" });
  await clock.getByText("in 1:00").waitFor();
  const place = () => clock.getByRole("button", { name: "+1 h" }).boundingBox();
  const before = await place();
  await clock.getByRole("button", { name: "+1 h" }).click();
  await clock.getByText(/in \d:\d\d:\d\d/).waitFor();
  expect(await place()).toEqual(before);

  await clock.getByRole("button", { name: "Skip" }).click();
  const asked = page.getByRole("dialog", { name: "Skip all waiting?" });
  await asked.getByText("1 delivery is still in progress").waitFor();
  await asked.getByRole("button", { name: "Keep waiting" }).click();
  expect(simulator.clock.mode).toBe("manual");
  await clock.getByRole("button", { name: "Skip" }).click();
  await asked.getByRole("button", { name: "Skip", exact: true }).click();
  await clock.getByText("none due").waitFor();
  await expect.poll(() => receiver.received.length).toBe(6);
});
