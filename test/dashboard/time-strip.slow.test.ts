import { describe, expect, test } from "vitest";
import { expectShown, useBrowser, type WatchedPage } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

/** A delivery that failed once: its second attempt is due in a minute. */
async function openStrip(statuses: number[]) {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint((response, count) => {
    response.writeHead(statuses[count - 1] ?? 500).end();
  });
  const origin = new URL(url).origin;
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "call.completed" });
  await simulator.settled();
  const page = await browser.openPage(url);
  const strip = page.getByRole("region", { name: "What lies ahead" });
  await expectShown(strip.locator(".mark-due"));
  return { page, strip, slider: strip.getByRole("slider"), simulator, receiver, origin };
}

/** Drags on the line from `from` to `to`, as fractions of its length. */
async function drag(page: WatchedPage, from: number, to: number): Promise<void> {
  const box = await page.locator(".shell > .time-strip .strip-track").boundingBox();
  if (box === null) throw new Error("The line is in sight.");
  await page.mouse.move(box.x + box.width * from, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + 10, { steps: 3 });
  await page.mouse.up();
}

describe("the timeline of upcoming attempts", () => {
  test("moves time by keyboard: asks first if deliveries wait, and goes on to the next moment", async () => {
    const { page, strip, slider, simulator, receiver } = await openStrip([500, 500]);
    const startMs = simulator.clock.now();
    await expectShown(strip.getByText("1 attempt", { exact: true }));
    expect(await slider.getAttribute("aria-valuetext")).toBe("now");

    await page.keyboard.press("s");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("in 1:00: 1 attempt");
    await expectShown(page.locator(".feed-row.within-reach"));
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("in 5:00: 1 attempt");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    const ask = page.getByRole("dialog", { name: "Move schedule time?" });
    await expectShown(ask.getByText("On the way: 1 attempt."));
    await ask.getByRole("button", { name: "Keep waiting" }).click();
    await ask.waitFor({ state: "detached" });
    await expect.poll(() => page.locator(".feed-row.within-reach").count()).toBe(0);
    expect(receiver.received).toHaveLength(1);
    expect(simulator.clock.now()).toBe(startMs);

    await slider.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await ask.waitFor();
    await page.keyboard.press("Enter");
    await receiver.until(2);
    await expectShown(page.locator(".feed-row.lit"));
    await expect.poll(() => page.locator(".clock-next").innerText()).toContain("in 5:00");
    expect(simulator.clock.now() - startMs).toBe(60_000);
    await expect.poll(() => page.evaluate("document.activeElement.role")).toBe("slider");

    // Left of the first moment there is only "now"; Escape cancels the drag.
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Escape");
    await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("now");
  });

  test("moves time by dragging: at once if nothing waits, and snaps to a near mark", async () => {
    const { page, strip, simulator, receiver } = await openStrip([500, 200]);
    const startMs = simulator.clock.now();
    await drag(page, 0.01, 0.05);
    await expect.poll(() => simulator.clock.now()).toBeGreaterThan(startMs);
    expect(simulator.clock.now() - startMs).toBeLessThan(60_000);
    expect(receiver.received).toHaveLength(1);

    const nextMs = simulator.clock.nextDueMs() ?? 0;
    const left = Math.log1p((nextMs - simulator.clock.now()) / 60_000) / Math.log1p(52_560 / 60);
    await expect.poll(() => page.locator(".strip-tip").count()).toBe(0);
    await drag(page, 0.3, left - 0.006);
    await page.getByRole("dialog").getByRole("button", { name: "Move" }).click();
    await receiver.until(2);
    await expectShown(strip.getByText("Nothing is due"));
    expect(simulator.clock.now()).toBe(nextMs);
  });

  test("shows the steps of a scenario together with attempts", async () => {
    const { page, strip, origin } = await openStrip([500]);
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
});
