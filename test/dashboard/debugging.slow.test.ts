import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LANGUAGES, snippet } from "../examples/languages.ts";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { ROOT } from "../repository/files.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const FILES = ["node", "python", "go", "php", "ruby"];

test("answer and request are wide enough to read JSON next to the list", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint((response) => {
    response
      .writeHead(500, { "content-type": "application/json" })
      .end('{"why":{"code":"{boom"},"ids":[1,[]]}');
  });
  await control(new URL(url).origin, "POST", "/endpoints", { url: receiver.url });
  await control(new URL(url).origin, "POST", "/events", { type: "call.completed" });
  const [delivery] = simulator.deliveries.page({ limit: 1 }).deliveries;
  const page = await browser.openPage(`${url}/deliveries/${delivery?.id}`, {
    viewport: { width: 1440, height: 900 },
  });
  const answer = page.getByRole("region", { name: "Answer body" });
  await answer.waitFor();
  expect((await answer.boundingBox())?.width).toBeGreaterThan(450);
  expect(await page.locator(".list-pane").isVisible()).toBe(true);
  // Nothing that is hidden from the eye makes the window itself scroll.
  for (const element of ["document.documentElement", "document.querySelector('main')"])
    expect(await page.evaluate(`${element}.scrollHeight - ${element}.clientHeight`)).toBe(0);
});

test("the page shows the same code as the documentation", () => {
  const documented = LANGUAGES.map(({ name }) => snippet(name));
  const shown = FILES.map((name) =>
    readFileSync(`${ROOT}simulator/dashboard/app/snippets/${name}.txt`, "utf8"),
  );
  expect(shown).toEqual(documented);
});
