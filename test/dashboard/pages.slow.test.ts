import { expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("a call shows its transcript line by line, and its recording can be played", async () => {
  const { url } = await openDashboard();
  const origin = new URL(url).origin;
  const transcript = "Agent: Good evening.\nCaller: A table for two,\nplease.\nAgent: Certainly.";
  await control(origin, "POST", "/events", {
    type: "call.completed",
    object: { transcript, phone: "+12125550199" },
  });
  const page = await browser.openPage(`${url}/world`);

  await page.locator(".row", { hasText: "+12125550199" }).click();
  const dialog = page.getByRole("dialog", { name: "Call from +12125550199" });
  await expect.poll(() => dialog.locator(".transcript").innerText()).toBe(transcript);
  const recording = dialog.locator("audio");
  await recording.evaluate((audio: { load(): void; preload: string }) => {
    audio.preload = "auto";
    audio.load();
  });
  const seconds = () => recording.evaluate((audio: { duration: number }) => audio.duration);
  await expect.poll(seconds).toBeGreaterThan(0);
});

test("a recording on another site is a link, and anything but an http address is text", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  for (const [phone, recording] of [
    ["+12125550101", "https://example.com/a.mp3"],
    ["+12125550102", "javascript:alert(1)"],
  ]) {
    await control(origin, "POST", "/events", {
      type: "call.completed",
      object: { phone, recording_url: recording },
    });
  }
  const page = await browser.openPage(`${url}/world/calls`);
  await page.locator(".row", { hasText: "+12125550101" }).click();
  const link = page.getByRole("dialog").getByRole("link");
  expect(await link.getAttribute("href")).toBe("https://example.com/a.mp3");
  expect(await link.getAttribute("rel")).toBe("noreferrer noopener");
  await page.keyboard.press("Escape");
  await page.locator(".row", { hasText: "+12125550102" }).click();
  await page.getByRole("dialog").getByText("Not a web address: javascript:alert(1)").waitFor();
  expect(await page.getByRole("dialog").getByRole("link").count()).toBe(0);
});

test("a reading is changed, applied by the API, and reset", async () => {
  const { url } = await openDashboard();
  const page = await browser.openPage(`${url}/readings`);
  const reading = page.locator(".reading", { hasText: "limit_out_of_range" });
  await reading.getByRole("button", { name: "clamp" }).click();
  await reading.getByText("changed").waitFor();

  const status = async () =>
    (
      await fetch(`${new URL(url).origin}/api/v1/calls?limit=1000`, {
        headers: { authorization: "Bearer va_test_restaurant" },
      })
    ).status;
  expect(await status()).toBe(200);
  await page.getByRole("button", { name: "Defaults for all (1 changed)" }).click();
  await reading.getByText("changed").waitFor({ state: "detached" });
  expect(await status()).toBe(400);
});

test("a scenario runs, and traffic is switched on and off", async () => {
  const { url, simulator } = await openDashboard();
  const page = await browser.openPage(`${url}/trigger`);
  await page.getByRole("button", { name: "Run failed-transfer" }).click();
  await page.getByText("failed-transfer has begun").waitFor();
  await expect.poll(() => simulator.counts.events()).toBeGreaterThan(0);

  const traffic = page.getByRole("group", { name: "Calls a minute" });
  await traffic.getByRole("button", { name: "600" }).click();
  await expect
    .poll(() => simulator.events.page({ type: "call.completed", limit: 5 }).events.length)
    .toBeGreaterThan(3);
  await traffic.getByRole("button", { name: "Off" }).click();
  await expect.poll(() => simulator.traffic.perMinute()).toBe(0);
});

test("an event can be sent again, under its own id or a new one", async () => {
  const { url } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(200);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  const { body } = await control<{ events: { id: string }[] }>(origin, "POST", "/events", {
    type: "order.created",
  });
  await receiver.until(1);
  const page = await browser.openPage(`${url}/events/${body.events[0]?.id}`);
  await page.getByRole("heading", { name: "1 delivery" }).waitFor();
  // A sentence says what happened; the type stands below it.
  await page.getByRole("heading", { level: 1, name: / ordered / }).waitFor();
  await page.getByText(/^order\.created from a trigger, /).waitFor();
  await page.getByRole("button", { name: "Send again, same id" }).click();
  await page.getByRole("heading", { name: "2 deliveries" }).waitFor();
  await page.getByRole("button", { name: "Send again, new id" }).click();
  await page.getByRole("heading", { name: "1 delivery" }).waitFor();

  await receiver.until(3);
  const ids = receiver.received.map(({ body: sent }) => JSON.parse(String(sent)).id as string);
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
});

test("the call of an old voicemail is found, however many calls are between", async () => {
  const { url } = await openDashboard({ calls: 400 });
  const origin = new URL(url).origin;
  const response = await fetch(`${origin}/api/v1/voicemails?limit=100`, {
    headers: { authorization: "Bearer va_test_restaurant" },
  });
  const { data } = (await response.json()) as { data: { call_id: string; phone: string }[] };
  const last = data.at(-1);
  const page = await browser.openPage(`${url}/world/calls?open=${last?.call_id}`);
  await expectShown(page.getByRole("dialog", { name: `Call from ${last?.phone}` }));
});
