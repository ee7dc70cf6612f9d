import { expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("the docs are found at their old address, and open at the part that was followed", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await browser.openPage(`${new URL(url).origin}/docs`, { colorScheme: "dark" });
  await expectShown(page.locator("#Error"));
  expect(page.url()).toBe(`${url}/docs`);
  expect(await page.locator(".docs-text").innerText()).not.toMatch(/undefined|\[object/);
  // The browser computes the signature, and the bundle has the code.
  await expectShown(page.getByText(/^X-Service-Signature: t=\d+,v1=[0-9a-f]{64}$/));
  await page.getByRole("button", { name: "Ruby", exact: true }).click();
  await expectShown(page.getByText("def signed?"));

  // A link in the table of contents goes to its section and changes the address.
  const contents = page.getByRole("navigation", { name: "Contents" });
  await contents.getByRole("link", { name: "voicemail.created" }).click();
  const part = page.locator("#onVoicemailCreatedEvent");
  await expect.poll(async () => (await part.boundingBox())?.y ?? 0).toBeLessThan(200);
  await part.getByRole("link", { name: "Trigger one" }).click();
  await expectShown(page.getByRole("button", { name: /^voicemail\.\s?created/, pressed: true }));
  await page.goBack();
  await expect.poll(async () => (await part.boundingBox())?.y ?? 900).toBeLessThan(200);
});
