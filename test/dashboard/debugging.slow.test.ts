import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { verify } from "../../shared/signature.ts";
import { LANGUAGES, snippet } from "../examples/languages.ts";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { ROOT } from "../repository/files.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const FILES = ["node", "python", "go", "php", "ruby"];
const SECRET = "whsec_of_the_debugging_test";
const HOSTILE = { customer_name: `Žofia 李 🎉 "'\\ $(id) #{1} \${2}` };

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

  expect((await answer.innerText()).split("\n")).toEqual([
    "{",
    '  "why": {',
    '    "code": "{boom"',
    "  },",
    '  "ids": [',
    "    1,",
    "    []",
    "  ]",
    "}",
  ]);
});

test("the event of a failed attempt is edited and sent again, to its endpoint alone", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint((response, count) => {
    const headers = { "content-type": "application/json", ...(count > 1 && { "retry-after": "30" }) };
    response.writeHead(count === 1 ? 500 : 503, headers).end(`{\n  "try": ${count},\n  "same": true\n}`);
  });
  const other = await startEndpoint(200);
  for (const { url: to } of [receiver, other])
    await control(origin, "POST", "/endpoints", { url: to, event_types: ["call.completed"], secret: SECRET });
  await control(origin, "POST", "/events", { type: "call.completed" });
  await control(origin, "POST", "/clock/advance", { seconds: 60 });
  const failed = simulator.deliveries
    .page({ limit: 2 })
    .deliveries.find(({ attempts }) => attempts.length === 2);
  const page = await browser.openPage(`${url}/deliveries/${failed?.id}`);

  await page.getByRole("heading", { name: "Attempt 2" }).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("heading", { name: "Attempt 1" }).waitFor();
  // Visually hidden elements don't make the window scroll.
  for (const element of ["document.documentElement", "document.querySelector('main')"])
    expect(await page.evaluate(`${element}.scrollHeight - ${element}.clientHeight`)).toBe(0);

  await page.getByRole("button", { name: "Edit and send" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit and send again" });
  const field = dialog.getByLabel("The event", { exact: true });
  const before = JSON.parse(await field.inputValue());
  await field.fill("{");
  await dialog.getByText("This is not JSON").waitFor();
  expect(await dialog.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  // An event id always has the same body.
  const edited = { ...before, type: "order.created", data: { object: { object: "order", ...HOSTILE } } };
  await field.fill(JSON.stringify(edited));
  await dialog.getByText("Keep its id").click();
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog.getByText("is stored already").waitFor();
  await dialog.getByText("Keep its id").click();
  receiver.behave(200);
  await dialog.getByRole("button", { name: "Send" }).click();
  await page.locator(".detail-title").getByText("Delivered").waitFor();
  const sent = receiver.received.at(-1);
  expect(JSON.parse(String(sent?.body))).toEqual({ ...edited, id: expect.not.stringMatching(before.id) });
  const nowSeconds = Math.floor(Date.now() / 1000);
  const signed = {
    headers: [sent?.signature ?? ""],
    body: sent?.body ?? Buffer.alloc(0),
    secrets: [SECRET],
    nowSeconds,
  };
  expect(verify(signed)).toMatchObject({ ok: true });
  expect(other.received).toHaveLength(1);
});

test("the page shows the same code as the documentation", () => {
  const documented = LANGUAGES.map(({ name }) => snippet(name));
  const shown = FILES.map((name) =>
    readFileSync(`${ROOT}simulator/dashboard/app/snippets/${name}.txt`, "utf8"),
  );
  expect(shown).toEqual(documented);
});
