import { test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

/** A delivery that failed once: its second attempt is due in a minute. */
async function openStrip() {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint(500);
  const origin = new URL(url).origin;
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "call.completed" });
  await simulator.settled();
  const page = await browser.openPage(url);
  const strip = page.getByRole("region", { name: "What lies ahead" });
  await expectShown(strip.locator(".mark-due"));
  return { page, strip, origin };
}

test("the line of what lies ahead shows the steps of a scenario together with attempts", async () => {
  const { page, strip, origin } = await openStrip();
  await control(origin, "POST", "/scenarios", {
    name: "one-later",
    summary: "An order comes in later",
    steps: [{ type: "order.created", after_seconds: 7_200 }],
  });
  await control(origin, "POST", "/scenarios/one-later", {});
  await expectShown(strip.locator(".mark-step.order-created"));
  await expectShown(strip.getByText("1 attempt and 1 scenario step"));

  // On a phone the modes and the steps are behind the clock.
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole("button", { name: "The clock" }).click();
  const dialog = page.getByRole("dialog", { name: "Schedule clock" });
  await expectShown(dialog.getByRole("button", { name: "Skip", exact: true }));
  await expectShown(dialog.getByRole("button", { name: "To the end" }));
});
