import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Locator } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { verify } from "../../shared/signature.ts";
import { isHere, LANGUAGES, snippet } from "../examples/languages.ts";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { ROOT } from "../repository/files.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const FILES = ["node", "python", "go", "php", "ruby"];
const SECRET = "whsec_of_the_debugging_test";
const HOSTILE = { customer_name: `Žofia 李 🎉 "'\\ $(id) #{1} \${2}` };

test("the answer stands beside the request, the list beside both, and its JSON folds", async () => {
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
  const boxOf = async (place: Locator) => (await place.boundingBox()) ?? { x: 0, y: 0, width: 0 };
  const [left, right] = await Promise.all(
    ["Answer", "Request"].map((name) =>
      boxOf(page.locator(".panel", { has: page.getByRole("heading", { name, exact: true }) })),
    ),
  );
  expect(right?.y).toBe(left?.y);
  expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0));
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
  await answer.getByText('"why": {').click();
  expect((await answer.innerText()).split("\n").slice(0, 3)).toEqual(["{", '  "why": {', '  "ids": [']);
  await page.keyboard.press("Enter");
  expect(await answer.innerText()).toContain("{boom");
  await answer.getByText("{", { exact: true }).first().click();
  expect(await answer.innerText()).toBe("{");
});

test("a failed attempt is compared with the one before, and its event is edited and sent again", async () => {
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

  const difference = page.locator(".difference");
  await difference.getByRole("row", { name: "Outcome 500 Server Error 503 Unavailable" }).waitFor();
  await difference.getByRole("row", { name: "retry-after none 30" }).waitFor();
  expect(await difference.textContent()).not.toContain("content-type");
  expect(await difference.getByRole("region").locator(".line").allTextContents()).toEqual([
    "  {",
    '−   "try": 1,',
    '+   "try": 2,',
    '    "same": true',
    "  }",
  ]);
  await difference.getByText(/The same:.* body we sent/).waitFor();
  // The first has nothing before it.
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("heading", { name: "Attempt 1" }).waitFor();
  expect(await difference.count()).toBe(0);
  // Nothing that is hidden from the eye makes the window itself scroll.
  for (const element of ["document.documentElement", "document.querySelector('main')"])
    expect(await page.evaluate(`${element}.scrollHeight - ${element}.clientHeight`)).toBe(0);

  await page.getByRole("button", { name: "Edit and send again" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit and send again" });
  const field = dialog.getByLabel("The event", { exact: true });
  const before = JSON.parse(await field.inputValue());
  await field.fill("{");
  await dialog.getByText("This is not JSON").waitFor();
  expect(await dialog.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  // An id stands for one body for ever.
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
  // What succeeded needs no kit.
  expect(await page.locator(".debug-kit").count()).toBe(0);
});

test("how an attempt ended is told in words, with what the machine said beside them", async () => {
  const { url, simulator } = await openDashboard();
  const origin = new URL(url).origin;
  await control(origin, "POST", "/endpoints", { url: "http://127.0.0.1:1/" });
  await control(origin, "POST", "/events", { type: "call.completed" });
  await simulator.settled();
  const [failed] = simulator.deliveries.page({ limit: 1 }).deliveries;
  const page = await browser.openPage(`${url}/deliveries/${failed?.id}`);
  const told = await page.locator(".attempt-head p").first().innerText();
  expect(told).toMatch(/is the receiver running, and on this port\? ECONNREFUSED: connect /);
});

test("the program that verifies an attempt says in each language what a receiver says", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(401);
  await control(origin, "POST", "/endpoints", { url: receiver.url, secret: SECRET });
  // Signatures are of the machine's time, whatever the schedule says.
  await simulator.clock.advance(86_400);
  await control(origin, "POST", "/events", { type: "voicemail.created", object: HOSTILE });
  await receiver.until(1);
  const [delivery] = simulator.deliveries.page({ limit: 1 }).deliveries;
  const page = await browser.openPage(`${url}/deliveries/${delivery?.id}`);
  await page.getByText("Verify its signature in your language").click();

  const folder = mkdtempSync(join(tmpdir(), "snippets-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const asked: Promise<string>[] = [];
  for (const language of LANGUAGES.filter(isHere)) {
    await page.getByRole("button", { name: language.name, exact: true }).click();
    const code = page.getByRole("region", { name: `Verification in ${language.name}` });
    await expect.poll(() => code.textContent()).toMatch(/signed/i);
    const file = join(folder, language.file);
    writeFileSync(file, (await code.textContent()) ?? "");
    const [program, ...words] = language.command(file);
    for (const secret of [SECRET, "whsec_another"])
      asked.push(
        promisify(execFile)(program, words, { env: { ...process.env, SIGNING_SECRET: secret } }).then(
          ({ stdout }) => `${language.name} ${stdout.trim()}`,
        ),
      );
  }
  const names = LANGUAGES.filter(isHere).map(({ name }) => name);
  expect((await Promise.all(asked)).map((line) => line.toLowerCase())).toEqual(
    names.flatMap((name) => [`${name} true`, `${name} false`].map((line) => line.toLowerCase())),
  );
});

test("the code in the page is that of the documentation", () => {
  const documented = LANGUAGES.map(({ name }) => snippet(name));
  const shown = FILES.map((name) =>
    readFileSync(`${ROOT}simulator/dashboard/app/snippets/${name}.txt`, "utf8"),
  );
  expect(shown).toEqual(documented);
});
