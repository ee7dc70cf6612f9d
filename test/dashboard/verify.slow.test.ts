import { expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("an endpoint's card verifies its receiver: failures first, each with its request and answer, saved in each format", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  // It accepts everything, forged or not.
  const receiver = await startEndpoint((response) => void response.end("took <b>it</b>"));
  await control(origin, "POST", "/endpoints", { url: receiver.url, event_types: ["call.completed"] });
  const page = await browser.openPage(`${url}/endpoints`);
  // Some of the groups, since all of them take their time.
  const only = ["acknowledgement", "signature.stale*", "signature.not-a-number", "crash"];
  await page.route("**/control/endpoints/*/verify", (route) =>
    route.continue({ postData: JSON.stringify({ only }) }),
  );
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Verify" }).waitFor();
  await page.getByText("The receiver failed").waitFor();

  const groups = page.locator(".report-group");
  const names = ["Failed", "Advice not followed", "Could not be judged", "Passed"];
  expect(await groups.locator("header h2").allTextContents()).toEqual(names);
  const failed = groups.first().locator(".check-row", { hasText: "signature.stale-hour" });
  await failed.getByText("It should be refused, but the receiver answered 200").click();
  const request = failed.getByRole("region", { name: "Request: signature.stale-hour" }).first();
  expect(await request.textContent()).toContain(`POST ${receiver.url}`);
  expect(await request.textContent()).toContain("X-Service-Signature: t=");
  const answer = failed.getByRole("region", { name: "Answer: signature.stale-hour" }).first();
  expect(await answer.textContent()).toMatch(/^HTTP 200\n[^]*took <b>it<\/b>$/);
  expect(await failed.locator(".check-detail").textContent()).toContain("--events call.completed");

  // Passed checks show their evidence, too.
  const passed = groups.nth(3).locator(".check-row", { hasText: "acknowledgement.call-completed" });
  await passed.locator("summary").click();
  expect(await passed.getByRole("region", { name: "Answer: " }).first().textContent()).toContain("HTTP 200");

  const saved = page.getByRole("group", { name: "Save the report" }).getByRole("link");
  const formats = ["Text", "JSON", "JUnit XML", "Markdown", "GitHub annotations"];
  await expect.poll(() => saved.allTextContents()).toEqual(formats);
  const download = page.waitForEvent("download");
  await saved.nth(2).click();
  expect((await download).suggestedFilename()).toBe("verify.xml");
});

test("only this machine is verified by default", async () => {
  const { url } = await openDashboard({ calls: 0 });
  await control(new URL(url).origin, "POST", "/endpoints", { url: "https://example.com/hook" });
  const page = await browser.openPage(`${url}/endpoints`);
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await expectShown(page.getByText("to this machine only, and example.com is another"));
});
