import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

test("at 320 to 1440 px nothing that can be pressed is cut, or lies over another", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const receiver = await startEndpoint((response, count) => response.writeHead(count % 2 ? 500 : 404).end());
  register(simulator, receiver.url);
  emit(simulator, "order.created", 6);
  await control(new URL(url).origin, "POST", "/clock/advance", { until: "idle" });
  for (const width of [320, 375, 768, 1024, 1440]) {
    const page = await browser.openPage(`${url}?state=dead`, {
      viewport: { width, height: width < 800 ? 360 : 800 },
    });
    await page.getByRole("button", { name: "Still lost" }).waitFor();
    await page.getByRole("button", { name: "404" }).or(page.getByText("takes no POST")).first().waitFor();
    const problems = `[...document.querySelectorAll(".list-pane :is(button, select, .search input), .top button")]
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
    await page.locator(".feed-row").last().scrollIntoViewIfNeeded();
    expect(await page.evaluate("document.querySelector('.scroller').clientHeight")).toBeGreaterThan(150);
  }
});
