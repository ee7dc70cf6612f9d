import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("traffic is told of by the stream: nobody asks for the clock", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const page = await browser.openPage(url);
  await page.locator(".connection").getByText("Live").waitFor();
  await control(origin, "POST", "/endpoints", { url: "http://localhost:1/" });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (let count = 1; count <= 5; count++) {
    await control(origin, "POST", "/events", { type: "call.completed" });
    await page.getByRole("button", { name: `In progress ${count}` }).waitFor();
  }
  expect(asked).not.toContain("/control/clock");
});

test("a request that waits for two seconds is said to wait", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await browser.openPage(url);
  await page.locator(".connection").getByText("Live").waitFor();
  const held = Promise.withResolvers<void>();
  await page.route("**/control/event-types", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.locator(".connection.slow").getByText("Waiting…").waitFor();
  held.resolve();
  await page.locator(".connection.open").getByText("Live").waitFor();
  expect(await page.locator(".connection.slow").count()).toBe(0);
});
