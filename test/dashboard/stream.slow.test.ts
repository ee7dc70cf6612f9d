import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("the page says that the simulator is gone, and comes back with the next one on the same port", async () => {
  const first = await openDashboard();
  const receiver = await startEndpoint(200);
  const origin = new URL(first.url).origin;
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "call.completed" });
  const page = await browser.openPage(first.url);
  const rows = page.locator(".windowed .feed-row");
  const connection = page.locator(".connection");
  await rows.getByText(/ called/).waitFor();
  await connection.getByText("Live").waitFor();

  await first.close();
  await connection.getByText("Reconnecting…").waitFor();
  await rows.getByText(/ called/).waitFor();
  await page.keyboard.press("m");
  await page.getByText("The simulator does not answer. Is it still running?").waitFor();

  const second = await openDashboard({ port: first.port, seed: 8 });
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "booking.created" });
  await connection.getByText("Live").waitFor();
  await rows.getByText(/ booked /).waitFor();
  await expect.poll(() => rows.getByText(/ called/).count()).toBe(0);

  // A delivery that the new simulator does not know is shown as deleted, without a countdown.
  await page.goto(
    `${first.url}/deliveries/${second.simulator.deliveries.page({ limit: 1 }).deliveries[0]?.id}`,
  );
  await page.getByText("A correct receiver accepts this signature.").waitFor();
  await control(origin, "POST", "/reset", { keep_endpoints: true });
  await page.getByText("There is no delivery").waitFor();
  await page.getByRole("link", { name: "Back to Live" }).click();

  await control(origin, "POST", "/events", { type: "order.created" });
  await rows.getByText(/ ordered/).waitFor();
  expect(second.port).toBe(first.port);
});
