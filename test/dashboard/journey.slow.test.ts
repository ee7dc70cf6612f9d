import { describe, expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

describe("from an empty dashboard to a delivered event", () => {
  test("register, trigger, fail, step time, dead, resend, delivered", async () => {
    const { url, simulator } = await openDashboard();
    const receiver = await startEndpoint(500);
    const page = await browser.openPage(url, { permissions: ["clipboard-read", "clipboard-write"] });
    const readClipboard = () => page.evaluate<string>("navigator.clipboard.readText()");

    // Register: the form checks the URL while one types, then shows the secret.
    await page.getByText("No endpoint yet").waitFor();
    await page.getByRole("link", { name: "Register an endpoint" }).click();
    const form = page.getByRole("dialog", { name: "Register an endpoint" });
    await form.getByLabel("URL", { exact: true }).fill("http://example.com/hook");
    await form.getByText("http:// is for localhost only, and example.com is not").waitFor();
    expect(await form.getByRole("button", { name: "Register" }).isDisabled()).toBe(true);
    await form.getByLabel("URL", { exact: true }).fill(receiver.url);
    await form.getByText("Good: a server listens there.").waitFor();
    await form.getByRole("button", { name: "Register" }).click();

    const once = page.getByRole("dialog", { name: "The signing secret" });
    const secret = (await once.locator("code.secret").innerText()).trim();
    expect(secret).toMatch(/^whsec_[0-9a-f]{48}$/);
    for (let escape = 0; escape < 3; escape++) await page.keyboard.press("Escape");
    await once.waitFor();
    await once.getByRole("button", { name: "Copy line" }).click();
    await once.getByRole("button", { name: "Copied", exact: true }).waitFor();
    expect(await readClipboard()).toBe(`SIGNING_SECRET=${secret}`);
    await once.getByRole("button", { name: "I have copied it" }).click();

    // Trigger, and watch it fail.
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.getByRole("button", { name: /^voicemail\.\s?created/ }).click();
    await page.getByLabel("customer_name").fill("Ada Lovelace");
    await page.getByRole("button", { name: "Trigger", exact: true }).click();
    await page.getByRole("link", { name: "Watch it" }).click();
    const head = page.locator(".detail-title");
    await head.getByText("In progress").waitFor();
    const slots = page.locator(".timeline li");
    await slots.nth(0).getByText("500 Server Error").waitFor();
    await slots.nth(1).getByText("in 1:00").waitFor();
    await page.getByLabel("Request body", { exact: true }).getByText('"Ada Lovelace"').waitFor();
    await page.getByText("A correct receiver accepts this signature.").waitFor();

    // Step time until the last attempt has failed.
    await page.keyboard.press("n");
    await slots.nth(1).getByText("500 Server Error").waitFor();
    for (let attempt = 3; attempt <= 6; attempt++) await page.keyboard.press("n");
    await slots.nth(5).getByText("500 Server Error").waitFor();
    await head.getByText("Gave up").waitFor();
    expect(receiver.received).toHaveLength(6);
    expect(await slots.locator(".slot-box").count()).toBe(6);
    expect(await page.getByRole("button", { name: "Attempt now" }).isDisabled()).toBe(true);
    const elapsedMs = simulator.clock.now() - Date.now();
    expect(elapsedMs / 3_600_000).toBeCloseTo(14.6, 1);

    // The endpoint is flagged, and its secret appears nowhere.
    await page.locator(".delivery-facts").getByRole("link", { name: receiver.url }).click();
    await page.getByText("Failing: 6 failures in a row").waitFor();
    await page.getByText(`••••${secret.slice(-4)}`).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.goBack();
    await head.getByText("Gave up").waitFor();

    // Fix the receiver and resend.
    receiver.behave(200);
    await page.keyboard.press("r");
    await head.getByText("Delivered").waitFor();
    await page.getByText("resent for").waitFor();
    await slots.nth(0).getByText("200 OK").waitFor();
    expect(receiver.received).toHaveLength(7);
    expect(receiver.received[6]?.body).toEqual(receiver.received[0]?.body);
  });
});
