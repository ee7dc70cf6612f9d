import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
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
  const texts = await Promise.all(
    ["pretty", "json", "junit", "markdown", "github"].map(async (format) => {
      const response = await fetch(`${origin}/control/verification/${format}`);
      expect(response.headers.get("content-disposition")).toMatch(/^attachment/);
      return response.text();
    }),
  );
  expect(texts[0]).toContain("✗ signature");
  expect(JSON.parse(texts[1] ?? "")).toMatchObject({ object: "verify_report", verdict: "failed" });
  expect(texts[2]).toContain("<testsuites");
  expect(texts[3]).toContain("❌ failed");
  expect(texts[4]).toContain("::error");
});

test("checks come one by one, and a run ends when it is canceled", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const held: ServerResponse[] = [];
  const receiver = await startEndpoint(
    (response, count) => void (count > 30 ? held.push(response) : response.end()),
  );
  const { body } = await control<{ id: string }>(origin, "POST", "/endpoints", { url: receiver.url });
  const page = await browser.openPage(`${url}/verify`);
  await page.getByRole("button", { name: /^Verify/ }).click();
  await page.getByText("Checking").waitFor();
  await expect.poll(() => held.length).toBeGreaterThan(0);
  await page.locator(".check-row", { hasText: "accepts genuine deliveries at all" }).waitFor();
  const again = await control(origin, "POST", `/endpoints/${body.id}/verify`, {});
  expect(again).toMatchObject({ status: 409, body: { error: "already_running" } });

  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("The run did not finish").waitFor();
  await page.getByText("It was interrupted.").waitFor();
  expect(simulator.verification.current()?.report?.verdict).toBe("incomplete");
  const sentUntilThen = receiver.received.length;
  for (const response of held.splice(0)) response.end();
  await page.reload();
  await page.getByText("The run did not finish").waitFor();
  // Another run starts without results of this one.
  const passed = page.locator(".check-row.ok");
  expect(await passed.count()).toBeGreaterThan(2);
  receiver.behave(() => {});
  await page.getByRole("button", { name: /^Verify/ }).click();
  await page.getByText("Checking").waitFor();
  await expect.poll(() => passed.count()).toBe(0);
  await page.getByRole("button", { name: "Cancel" }).click();
  // Running checks may send once more; no other check begins.
  expect(receiver.received.length - sentUntilThen).toBeLessThan(40);
});

test("only this machine is verified by default", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const elsewhere = await control<{ id: string }>(origin, "POST", "/endpoints", {
    url: "https://example.com/hook",
  });
  const refused = await control(origin, "POST", `/endpoints/${elsewhere.body.id}/verify`, {});
  expect(refused).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  expect(refused.body["message"]).toContain("--allow-host example.com");
  expect((await control(origin, "POST", "/endpoints/ep_none/verify", {})).status).toBe(404);
  const receiver = await startEndpoint(200);
  const { body } = await control<{ id: string }>(origin, "POST", "/endpoints", { url: receiver.url });
  const unknown = await control(origin, "POST", `/endpoints/${body.id}/verify`, { only: ["nonsense"] });
  expect(unknown).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  await control(origin, "DELETE", `/endpoints/${body.id}`);
  expect(simulator.verification.current()).toBeUndefined();
  expect((await control(origin, "GET", "/verification")).body["verification"]).toBeNull();
  expect((await control(origin, "GET", "/verification/junit")).status).toBe(404);
  expect((await control(origin, "GET", "/verification/constructor")).status).toBe(404);

  const page = await browser.openPage(`${url}/endpoints`);
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await page.getByText("to this machine only, and example.com is another").waitFor();
});
