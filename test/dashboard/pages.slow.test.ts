import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
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
