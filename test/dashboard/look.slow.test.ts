import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const send = () => Promise.resolve({ outcome: { status: 200 } as const, durationMs: 40 });

test("five hundred endpoints are listed ten to a page, failing ones first, and found by any word", async () => {
  const { url, simulator } = await openDashboard({ calls: 0, send });
  for (let count = 0; count < 500; count++) register(simulator, `http://localhost:1/tenant-${count}`);
  const page = await browser.openPage("about:blank");
  let asked = 0;
  page.on("request", () => (asked += 1));
  await page.goto(`${url}/endpoints`);
  const cards = page.locator(".card.endpoint");
  await page.getByText("1 to 10 of 500").waitFor();
  await page.getByText("Nothing sent yet.").nth(9).waitFor();
  expect(await cards.count()).toBe(10);
  expect(asked).toBeLessThan(25);
  expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(2_000);
  await page.getByRole("button", { name: "Next" }).last().click();
  await page.getByText("11 to 20 of 500").waitFor();
  await page.getByLabel("Search endpoints").fill("tenant-499");
  await page.getByText("1 to 1 of 1").waitFor();
  expect(await cards.count()).toBe(1);
  await page.getByLabel("Search endpoints").fill("nowhere");
  await page.getByText("None of 500").waitFor();
});

test("a run of verify is loaded when it is shown, and a canceled run keeps the last full report", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(200);
  const { id } = register(simulator, receiver.url);
  const started = await simulator.verification.start(id, { only: ["acknowledgement.call-completed"] });
  expect(started.ok).toBe(true);
  await expect.poll(() => simulator.verification.current()?.report?.verdict).toBe("passed");
  const page = await browser.openPage("about:blank");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(url);
  await page.getByText("No event yet").waitFor();
  expect(asked.filter((path) => /verif/.test(path))).toEqual([]);

  await page.goto(`${url}/verify`);
  await page.getByText("The receiver passed").waitFor();
  receiver.behave((response, count) => void (count < 30 && response.end()));
  await control(origin, "POST", `/endpoints/${id}/verify`, {});
  await page.getByText("Checking").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("The receiver passed").waitFor();
  await page.locator(".check-row.ok").first().waitFor();
});

test("a chosen time to advance to is dropped once the clock has passed it", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint(500);
  register(simulator, receiver.url);
  emit(simulator, "order.created");
  await receiver.until(1);
  const page = await browser.openPage(url);
  await page.locator(".mark-due").waitFor();
  for (const key of ["s", "ArrowRight"]) await page.keyboard.press(key);
  await page.locator(".strip-tip").waitFor();
  await page.getByRole("button", { name: "To the end" }).click();
  await expect.poll(() => page.locator(".strip-tip").count()).toBe(0);
});

test("on a phone a recovered row is marked, and an open call has its own address", async () => {
  const { url, simulator } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(500);
  register(simulator, receiver.url);
  const [id = ""] = emit(simulator, "call.completed");
  await control(origin, "POST", "/clock/advance", { until: "idle" });
  receiver.behave(200);
  await control(origin, "POST", `/deliveries/${id}/resend`, {});
  const page = await browser.openPage(url, { viewport: { width: 390, height: 844 } });
  const row = page.locator(`.feed-row[href*="${id}"]`);
  await row.getByText("recovered", { exact: true }).waitFor();
  expect(await row.getByText("500").isVisible()).toBe(false);
  await row.click();
  await page.getByRole("link", { name: "Its call" }).click();
  const call = page.getByRole("dialog", { name: /^Call from/ });
  await call.waitFor();
  const address = page.url();
  await page.keyboard.press("Escape");
  await call.waitFor({ state: "detached" });
  await page.goto(address);
  await call.waitFor();
});

test("at 1024 and 1440 px no button or link is cut off or overlaps another", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint((response, count) => response.writeHead(count % 2 ? 500 : 404).end());
  register(simulator, receiver.url);
  emit(simulator, "order.created", 6);
  await control(new URL(url).origin, "POST", "/clock/advance", { until: "idle" });
  for (const width of [1024, 1440]) {
    const page = await browser.openPage(`${url}?state=dead`, { viewport: { width, height: 800 } });
    await page.getByRole("button", { name: "Still lost" }).waitFor();
    await page.getByRole("button", { name: "404" }).or(page.getByText("takes no POST")).first().waitFor();
    const problems = `[...document.querySelectorAll(".list-pane :is(button, select, .search input)")]
      .filter((one) => one.checkVisibility())
      .flatMap((one, index, all) => {
        const box = one.getBoundingClientRect();
        const isOver = (other) => {
          const { left, right, top, bottom } = other.getBoundingClientRect();
          return left < box.right - 1 && right > box.left + 1 && top < box.bottom - 1 && bottom > box.top + 1;
        };
        const isCut = one.scrollWidth > one.clientWidth + 1 || box.right > innerWidth;
        return isCut || all.slice(index + 1).some(isOver) ? [one.textContent] : [];
      })`;
    expect(await page.evaluate(problems), String(width)).toEqual([]);
  }
});
