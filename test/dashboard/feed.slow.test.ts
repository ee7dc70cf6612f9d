import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

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
  expect(await focused()).toBe(new URL(page.url()).pathname);
  await page.getByRole("button", { name: "Resend" }).focus();
  await page.keyboard.press("u");
  await expect.poll(focused).toBe(`/dashboard/deliveries/${ids[28]}`);
});
