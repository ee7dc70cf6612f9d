import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("a delivery opens next to the list and, where both are too wide, in its place", async () => {
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
  const page = await browser.openPage(`${url}?state=delivered`);

  await page.locator(".feed-row", { hasText: "/orders" }).waitFor();
  await page.locator(".feed-row").first().click();
  const detail = page.getByRole("region", { name: "Delivery" });
  await detail.getByText("A correct receiver accepts this signature.").waitFor();
  // Too narrow for both: the delivery alone, and the list when one goes back.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("region", { name: "Deliveries", exact: true }).waitFor({ state: "hidden" });
  await page.getByRole("heading", { level: 1, name: "ordered" }).waitFor();
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
