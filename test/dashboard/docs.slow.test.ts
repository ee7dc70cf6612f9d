import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const document = JSON.parse(
  readFileSync(new URL("../../simulator/openapi/openapi.json", import.meta.url), "utf8"),
) as { paths: object; webhooks: object; components: { schemas: Record<string, { properties?: object }> } };

describe("the docs of the service", () => {
  test("have every endpoint, event type, object and field, and keep their old addresses", async () => {
    const { url } = await openDashboard({ calls: 0 });
    const page = await browser.openPage(`${new URL(url).origin}/docs`);
    await expectShown(page.locator("#Error"));
    expect(page.url()).toBe(`${url}/docs`);
    const text = await page.locator(".docs-text").innerText();
    const objects = Object.keys(document.components.schemas).filter((name) => !/(?:List|Event)$/.test(name));
    for (const name of [...Object.keys(document.paths), ...Object.keys(document.webhooks), ...objects])
      expect(text).toContain(name);
    for (const name of objects) {
      const table = page.getByRole("table", { name: `Fields of ${name}`, exact: true });
      const fields = await table.locator("tbody th code").allInnerTexts();
      expect(fields).toEqual(Object.keys(document.components.schemas[name]?.properties ?? {}));
    }
    expect(text).toContain("1 to 100. 25 where absent.");
    expect(text).toContain("a page of Call");
    expect(text).not.toMatch(/undefined|\[object/);

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

  test("call the REST API as a client does, with any key, and show the answer and a curl command", async () => {
    const { url } = await openDashboard();
    const page = await browser.openPage(`${url}/docs#listCalls`);
    const trying = page.getByRole("form", { name: "Try /api/v1/calls" });
    const answers = async (status: string, ...words: string[]) => {
      await trying.getByRole("button", { name: "Send", exact: true }).click();
      await expectShown(trying.getByText(status, { exact: true }));
      for (const word of words)
        await expectShown(trying.getByLabel("What /api/v1/calls answered").getByText(word).first());
    };
    await trying.getByLabel("limit").fill("2");
    await trying.getByLabel("outcome").fill("completed");
    await answers("200", '"completed"', '"has_more"');
    const curl = await trying.getByLabel("/api/v1/calls as curl", { exact: true }).textContent();
    expect(curl).toContain("-H 'Authorization: Bearer va_test_restaurant'");
    expect(curl).toContain("/api/v1/calls?limit=2&outcome=completed");
    await trying.getByLabel("starting_after").fill("call_nothing");
    await answers("400", "call_nothing");
    await trying.getByLabel("API key").selectOption({ label: "A wrong key" });
    await answers("401");
  });

  test("compute the signature in this page, and show the code in five languages", async () => {
    const { url } = await openDashboard({ calls: 0 });
    const page = await browser.openPage(`${url}/docs#signature`, { colorScheme: "dark" });
    const part = page.locator("#signature");
    await expect.poll(async () => (await part.boundingBox())?.y ?? 900).toBeLessThan(200);
    await part.getByLabel("Secret").fill("whsec_mine");
    await part.getByLabel("t", { exact: true }).fill("1700000000");
    await part.getByLabel("Body").fill('{"é":1}');
    const digest = createHmac("sha256", "whsec_mine").update('1700000000.{"é":1}').digest("hex");
    await expectShown(part.getByText(`X-Service-Signature: t=1700000000,v1=${digest}`));
    for (const [language, word] of [
      ["Python", "def is_signed"],
      ["Ruby", "def signed?"],
    ] as const) {
      await part.getByRole("button", { name: language, exact: true }).click();
      await expectShown(part.getByText(word));
    }
  });
});
