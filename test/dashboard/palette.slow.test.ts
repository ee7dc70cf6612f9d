import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("the palette knows synonyms, and the actions for the open page", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  register(simulator, "http://localhost:1/nobody");
  const [id = ""] = emit(simulator, "call.completed");
  const page = await browser.openPage(url);
  await page.getByRole("button", { name: "In progress 1" }).waitFor();
  const options = async (text: string) => {
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Go to, or do" });
    await palette.getByRole("combobox").fill(text);
    const shown = await palette.getByRole("option").allTextContents();
    await page.keyboard.press("Escape");
    return shown.join("\n");
  };
  for (const [text, action] of [
    ["dead", "Show what gave up"],
    ["dark", "Change the theme"],
    ["timed", "Show what timed out"],
    ["rotate", "Rotate the secret of localhost:1/nobody"],
    ["faults", "Go to Trigger"],
    ["settings", "Go to Open questions"],
    ["rec", "Recover what was lost (resend all that gave up)"],
    ["signature", "Docs: the signature"],
    ["retry", "Docs: webhooks and their retries"],
    ["curl", "Docs: the REST API"],
  ] as const)
    expect((await options(text)).split("\n")[0]).toMatch(action);
  expect(await options(id)).toContain(`Open delivery ${id}`);
  expect(await options("resend this")).not.toContain("Resend this delivery");
  await page.locator(`.windowed [href$="${id}"]`).click();
  await page.getByRole("button", { name: "Resend" }).waitFor();
  expect(await options("resend this")).toContain("Resend this delivery");
});
