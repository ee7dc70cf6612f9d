import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("recovering keeps to the filters of the page, counts first, and what was recovered looks so", async () => {
  const { url } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(500);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "order.created", count: 2 });
  await control(origin, "POST", "/events", { type: "voicemail.created", count: 3 });
  await control(origin, "POST", "/clock/advance", { until: "idle" });
  receiver.behave(200);
  const before = receiver.received.length;

  const page = await browser.openPage(`${url}?type=order.created`);
  await page.locator(".feed-row").first().waitFor();
  await page.getByRole("button", { name: "Gave up 5" }).waitFor();
  await page.getByRole("button", { name: "Recover…" }).click();
  const dialog = page.getByRole("dialog", { name: "Recover what was lost" });
  await dialog.getByText("2 order.created to 1 endpoint.").waitFor();
  await dialog.getByLabel("Created in").selectOption("the last 15 minutes");
  await dialog.getByText("Nothing is lost that fits").waitFor();
  expect(await dialog.getByRole("button", { name: "Send again" }).isDisabled()).toBe(true);
  expect(receiver.received).toHaveLength(before);
  await dialog.getByLabel("Created in").selectOption("the last 24 hours");
  await dialog.getByRole("button", { name: "Send 2 again" }).click();
  await dialog.getByText("2 deliveries sent: 2 acknowledged.").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  const types = receiver.received
    .slice(before)
    .map(({ body }) => /"type":"([^"]+)"/.exec(body.toString())?.[1]);
  expect(types).toEqual(["order.created", "order.created"]);

  await expect.poll(() => page.locator(".feed-row .how").getByText("recovered").count()).toBe(2);
  expect(await page.getByRole("group", { name: "Deliveries by state" }).getByText("Gave up").count()).toBe(0);
  await page.getByRole("button", { name: "Still lost 3" }).click();
  await expect.poll(() => page.locator(".feed-row .voicemail-created").count()).toBe(0);
  await page.getByLabel("Type").selectOption("");
  await expect.poll(() => page.locator(".feed-row .voicemail-created").count()).toBe(3);
  await page.locator(".verdict-part.not").getByText("3").waitFor();
  // Sent again it is lost no more, or not yet: what became of it is told by the other one.
  receiver.behave(500);
  await page.getByRole("button", { name: "Still lost 3" }).waitFor();
  const { body } = await control<{ data: { id: string }[] }>(origin, "GET", "/deliveries?state=lost");
  await control(origin, "POST", `/deliveries/${body.data[0]?.id}/resend`, {});
  await expect.poll(() => page.locator(".feed-row .voicemail-created").count()).toBe(2);
  await page.getByRole("button", { name: "Still lost 2" }).waitFor();
  await page.getByRole("button", { name: "All" }).click();
  await page.locator(".feed-row", { hasText: "recovered" }).first().click();
  await page.getByText("Gave up, recovered by a later delivery").last().waitFor();
  await page.getByText("recovered by dlv_").waitFor();
});

test("on a phone the button is in sight, and the dialog has the focus in its first field", async () => {
  const { url } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(500);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "order.created" });
  await control(origin, "POST", "/clock/advance", { until: "idle" });
  const page = await browser.openPage(url, { viewport: { width: 390, height: 844 } });
  const button = page.getByRole("button", { name: "Recover…" });
  await button.waitFor();
  const { x = 0, width = 0 } = (await button.boundingBox()) ?? {};
  expect(x + width).toBeLessThanOrEqual(390);
  await button.click();
  await expect.poll(() => page.evaluate("document.activeElement?.tagName")).toBe("SELECT");
});
