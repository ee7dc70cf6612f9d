import { expect, test } from "vitest";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();
const MOST_ACTIONS = 3;

test("what one comes for takes three actions at most", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint((response, count) =>
    response.writeHead(500, { "content-type": "application/json" }).end(`{"try":${count}}`),
  );
  const endpoint = register(simulator, receiver.url);
  emit(simulator, "order.created");
  simulator.events.emit({ type: "call.completed", object: { phone: "+12125550194" } });
  await control(origin, "POST", "/clock/advance", { until: "idle" });
  emit(simulator, "order.created");
  await control(origin, "POST", "/clock/advance", { until: "idle" });
  const page = await browser.openPage(url);
  const rows = page.locator(".windowed a[href*='/deliveries/']");
  const search = page.getByLabel("Search deliveries");
  await expect.poll(() => rows.count()).toBe(3);
  let actions = 0;
  const act = async (action: Promise<unknown>) => {
    await action;
    actions += 1;
  };
  const begin = async (path: string) => {
    expect(actions).toBeLessThanOrEqual(MOST_ACTIONS);
    actions = 0;
    await page.goto(`${url}${path}`);
  };

  // Why did it fail?
  await act(rows.first().click());
  await page.getByText("Never acknowledged: gave up after six attempts (500)").last().waitFor();
  expect(await page.getByRole("region", { name: "Answer body" }).textContent()).toContain('"try"');

  // What is otherwise in attempt 5 than in attempt 2?
  await act(page.getByRole("button", { name: "2 h 36 min" }).click());
  await act(
    page.getByRole("group", { name: "Compare with attempt" }).getByRole("button", { name: "2" }).click(),
  );
  await page.getByRole("heading", { name: "Compared with attempt 2" }).waitFor();
  expect(await page.locator(".difference thead").textContent()).toBe("Attempt 2Attempt 5");
  expect(page.url()).toContain("attempt=5");

  // Which event was it of whom this number was called?
  await begin("");
  await act(search.fill("(212) 555-0194"));
  await expect.poll(() => rows.count()).toBe(1);

  // The orders of the last hour, once more.
  await begin("");
  receiver.behave(200);
  const before = receiver.received.length;
  await act(search.fill("type:order.created after:15h"));
  await expect.poll(() => rows.count()).toBe(1);
  await act(page.getByRole("button", { name: "Send all again…" }).click());
  await act(page.getByRole("button", { name: "Send 1 again" }).click());
  await page.getByText("Sent: 1 of 1, 1 acknowledged.").waitFor();
  expect(receiver.received.length - before).toBe(1);

  // Another secret.
  await begin("");
  await act(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Endpoints" }).click());
  await act(page.getByRole("button", { name: "Rotate" }).click());
  await act(page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click());
  await page.getByRole("dialog", { name: "The signing secret" }).waitFor();

  // Verify it, and what failed once more.
  await begin("/verify");
  const only = ["signature.stale*", "signature.not-a-number"];
  await page.route("**/control/endpoints/*/verify", (route) =>
    route.continue({ postData: JSON.stringify({ only }) }),
  );
  await act(page.getByRole("button", { name: /^Verify ./ }).click());
  await page.getByText("The receiver failed").waitFor();
  await page
    .getByText(/^\d+ checks, one fix:/)
    .first()
    .waitFor();
  await page.unroute("**/control/endpoints/*/verify");
  const failed = simulator.verification.current()?.results.length ?? 0;
  await act(page.getByRole("button", { name: /^Run the \d+ failed again/ }).click());
  await page.getByText("Since the run before: 0 mended, 0 worse.").waitFor();
  expect(simulator.verification.current()?.total).toBeLessThan(failed);
  expect(simulator.verification.current()?.endpointId).toBe(endpoint.id);
  expect(actions).toBeLessThanOrEqual(MOST_ACTIONS);
}, 180_000);

test("the palette knows other words for things, and what can be done with what is open", async () => {
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
  expect(await options("resend this")).not.toContain("Resend this delivery");
  await page.locator(`.windowed [href$="${id}"]`).click();
  await page.getByRole("button", { name: "Resend" }).waitFor();
  expect(await options("resend this")).toContain("Resend this delivery");
});
