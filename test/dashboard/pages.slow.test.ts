import { expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
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

test("the call of an old voicemail is found at any distance", async () => {
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
