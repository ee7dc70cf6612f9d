import { expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("eight tabs share a stream, and continue when the tab that holds it is closed", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const first = await browser.openPage(url);
  const tabs = [first];
  for (let count = 1; count < 8; count++) {
    const tab = Object.assign(await first.context().newPage(), { complaints: first.complaints });
    await tab.goto(url);
    tabs.push(tab);
  }
  await control(origin, "POST", "/events", { type: "call.completed" });
  for (const tab of tabs) await tab.locator(".feed-row").getByText("it was not sent").waitFor();
  for (const tab of tabs)
    expect(await tab.evaluate("fetch('/control/clock').then(({ status }) => status)")).toBe(200);

  const [, ...others] = tabs;
  await first.close();
  await control(origin, "POST", "/events", { type: "voicemail.created" });
  for (const tab of others) await tab.locator(".feed-row .voicemail-created").waitFor();
});

test("after eight loads in one tab, and Back, no request is left open", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const page = await browser.openPage(url);
  for (let load = 0; load < 8; load++) {
    await page.goto(`${url}/endpoints?load=${load}`);
    await page.locator(".connection").getByText("Live").waitFor();
  }
  // One at a time: going back unloads the page that would report it.
  await page.evaluate("void setTimeout(() => history.go(-8))");
  await page.locator(".list-pane").waitFor();
  await page.locator(".connection").getByText("Live").waitFor();
  await control(origin, "POST", "/events", { type: "voicemail.created" });
  await expectShown(page.locator(".feed-row .voicemail-created"));
});
