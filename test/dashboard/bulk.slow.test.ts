import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

const stateTab = (page: Page, name: string) =>
  page.getByRole("group", { name: "Deliveries by state" }).getByRole("button", { name });

/** 5,000 deliveries take some twenty seconds on a machine that does nothing else. */
const PATIENTLY = { timeout: 200_000 };

test(
  "one job resends 5,000 failed deliveries by their cause, and shows the result",
  { timeout: 300_000 },
  async () => {
    const { url, simulator } = await openDashboard({ calls: 0 });
    const origin = new URL(url).origin;
    const receiver = await startEndpoint(503);
    const other = await startEndpoint(404);
    register(simulator, receiver.url, { eventTypes: ["order.created", "voicemail.created"] });
    register(simulator, other.url, { eventTypes: ["booking.created"] });
    for (let count = 0; count < 10; count += 1) {
      emit(simulator, "order.created", 300);
      emit(simulator, "voicemail.created", 200);
    }
    emit(simulator, "booking.created", 5);
    await control(origin, "POST", "/clock/advance", { until: "idle" });
    const page = await browser.openPage(url);

    // All deliveries that died just now, although they were created fifteen hours ago: the cause and the fix.
    await page.getByLabel("Time", { exact: true }).selectOption("gave up in the last hour");
    await stateTab(page, "Gave up 5,005").waitFor();
    const causes = page.getByRole("group", { name: "Failures by cause" });
    expect(await causes.getByRole("button").allTextContents()).toEqual([
      "5,000 The receiver was unavailable",
      "5 The receiver takes no POST at this path",
    ]);
    await causes.getByRole("button", { name: "unavailable" }).click();
    await page.getByText("it was starting, stopping or overloaded", { exact: false }).waitFor();
    await stateTab(page, "All 5,000").waitFor();

    // Counted first, exactly, by type and endpoint.
    receiver.behave(200);
    const before = receiver.received.length;
    await page.getByRole("button", { name: "Send all again…" }).click();
    const dialog = page.getByRole("dialog", { name: "Send again" });
    await dialog.getByRole("row", { name: /order\.created .* 3,000$/ }).waitFor();
    await dialog.getByRole("row", { name: /voicemail\.created .* 2,000$/ }).waitFor();
    expect(receiver.received).toHaveLength(before);
    await dialog.getByRole("button", { name: "Send 5,000 again" }).click();
    await dialog.getByText("Sent: 5,000 of 5,000, 5,000 acknowledged.").waitFor(PATIENTLY);
    expect(receiver.received).toHaveLength(before + 5_000);
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.locator(".latest").getByText("200 OK").waitFor();

    // Recovered deliveries are marked as recovered.
    await page.goto(`${url}?state=dead&type=order.created`);
    await expect.poll(() => page.locator(".feed-row .how").getByText("recovered").count()).toBeGreaterThan(5);
    await page.getByRole("button", { name: "Still lost" }).click();
    await page.getByText("Nothing matches").waitFor();

    // The same selection now finds nothing to send, and the finished job is in the list.
    await page.goto(`${url}?state=dead&type=order.created&resend`);
    await dialog.getByText("Nothing to send").waitFor();
    expect(await dialog.getByRole("button", { name: "Send again" }).isDisabled()).toBe(true);
    await dialog.getByText("1 job before").click();
    await dialog.getByText("5,000 sent, 5,000 acknowledged").waitFor();
    await dialog.getByRole("link", { name: "cause: unavailable" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(page.url()).toContain("gave_up_since=1h");
  },
);
