import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

const rowsOf = (page: Page) => page.locator(".windowed a[href*='/deliveries/']");
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

test("rows are selected by checkbox, key or range, or all that match, and only these are sent", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint(200);
  const { id } = register(simulator, receiver.url);
  emit(simulator, "call.completed", 80);
  await receiver.until(80);
  const page = await browser.openPage(url, { viewport: { width: 390, height: 844 } });
  await rowsOf(page).first().waitFor();
  const boxes = page.locator(".windowed .pick");
  const { width = 0, height = 0 } = (await boxes.first().boundingBox()) ?? {};
  expect(Math.min(width, height)).toBeGreaterThanOrEqual(24);

  await boxes.nth(1).click();
  await boxes.nth(3).click({ modifiers: ["Shift"] });
  await boxes.nth(2).click();
  for (const key of ["j", "j", "x"]) await page.keyboard.press(key);
  const bar = page.getByRole("group", { name: "Chosen deliveries" });
  await bar.getByText("3 chosen").waitFor();
  expect(page.url()).not.toContain("/deliveries/");
  await bar.getByRole("button", { name: "Send again…" }).click();
  const dialog = page.getByRole("dialog", { name: "Send again" });
  await dialog.getByRole("button", { name: "Send 3 again" }).click();
  await dialog.getByText("Sent: 3 of 3, 3 acknowledged.").waitFor();
  expect(receiver.received).toHaveLength(83);
  await dialog.getByRole("button", { name: "Done" }).click();

  // All listed rows, then all matches: a delivery that was already resent is left out.
  await bar.getByRole("button", { name: "Clear" }).click();
  await bar.getByLabel("Choose all that are listed").check();
  await bar.getByRole("button", { name: "Choose all 83 that there are" }).click();
  await bar.getByRole("button", { name: "Send again…" }).click();
  await dialog.getByRole("button", { name: "Send 80 again" }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();

  // Nothing is sent to a deleted endpoint, and no message appears.
  simulator.endpoints.remove(id);
  await bar.getByRole("button", { name: "Send again…" }).click();
  await dialog.getByText("Nothing to send").waitFor();
  expect(receiver.received).toHaveLength(83);
});

test("a running job shows its progress anywhere in the list, and can be canceled", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint(200);
  register(simulator, receiver.url);
  emit(simulator, "call.completed");
  await receiver.until(1);
  const job = {
    object: "job",
    id: "job_1",
    state: "sending",
    selection: { state: "dead" },
    total: 5_000,
    counts: [],
    sent: 1_200,
    acknowledged: 1_100,
    failed: 7,
    problem: null,
    created_at: new Date().toISOString(),
    ended_at: null,
  };
  const page = await browser.openPage(`${url}?resend`);
  await page.route("**/control/deliveries/resend", async (route) => {
    const isDry = route.request().postData()?.includes("dry_run") === true;
    await (isDry ? route.continue() : route.fulfill({ status: 202, json: job }));
  });
  let canceled = "";
  await page.route("**/control/jobs/*/cancel", async (route) => {
    canceled = route.request().url();
    await route.fulfill({ json: { ...job, state: "canceled", ended_at: job.created_at } });
  });
  const dialog = page.getByRole("dialog", { name: "Send again" });
  await dialog.getByRole("button", { name: "Send 1 again" }).click();
  await dialog
    .getByText("Sending: 1,200 of 5,000, 1,100 acknowledged, 7 failed again, 93 on the way.")
    .waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  const bar = page.getByRole("group", { name: "Chosen deliveries" });
  await bar.getByText("1,200 of 5,000 sent").waitFor();
  await bar.getByRole("button", { name: "Cancel" }).click();
  await bar.getByText("1,200 of 5,000 sent").waitFor({ state: "detached" });
  expect(canceled).toContain("/control/jobs/job_1/cancel");
});

test("the Back button steps back through the filters, and a view is saved under its name", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint(500);
  register(simulator, receiver.url);
  emit(simulator, "order.created", 2);
  emit(simulator, "call.completed", 3);
  await receiver.until(5);
  const page = await browser.openPage(url);
  await expect.poll(() => rowsOf(page).count()).toBe(5);
  await page.getByLabel("Type", { exact: true }).selectOption("order.created");
  await expect.poll(() => rowsOf(page).count()).toBe(2);
  await page.getByLabel("Search deliveries").pressSequentially("zzz");
  await expect.poll(() => rowsOf(page).count()).toBe(0);
  await page.goBack();
  await expect.poll(() => rowsOf(page).count()).toBe(2);
  await page.getByLabel("Views").selectOption("Save this view…");
  await page.getByLabel("Name").fill("Orders");
  await page.getByRole("button", { name: "Save" }).click();
  await page.goBack();
  await expect.poll(() => rowsOf(page).count()).toBe(5);
  await page.reload();
  await page.getByLabel("Views").selectOption("Orders");
  await expect.poll(() => rowsOf(page).count()).toBe(2);
  expect(page.url()).toContain("?type=order.created");
  await page.getByLabel("Views").selectOption("Forget this view");
  const options = page.getByLabel("Views").locator("option");
  await expect.poll(() => options.allTextContents()).toEqual(["Views", "Save this view…"]);
});
