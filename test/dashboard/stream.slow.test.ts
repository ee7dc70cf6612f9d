import { expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard, visit } from "./open-dashboard.ts";

const browser = useBrowser();

test("the page says that the simulator is gone, and comes back with the next one on the same port", async () => {
  const first = await openDashboard();
  const receiver = await startEndpoint(200);
  const origin = new URL(first.url).origin;
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "call.completed" });
  const page = await browser.openPage(first.url);
  const rows = page.locator(".windowed .feed-row");
  const connection = page.locator(".connection");
  await rows.getByText(/ called/).waitFor();
  await connection.getByText("Live").waitFor();

  await first.close();
  await connection.getByText("Reconnecting…").waitFor();
  await rows.getByText(/ called/).waitFor();
  await page.keyboard.press("m");
  await page.getByText("The simulator does not answer. Is it still running?").waitFor();

  const second = await openDashboard({ port: first.port, seed: 8 });
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "booking.created" });
  await connection.getByText("Live").waitFor();
  await rows.getByText(/ booked /).waitFor();
  await expect.poll(() => rows.getByText(/ called/).count()).toBe(0);

  // A delivery that the new simulator does not know is shown as deleted, without a countdown.
  await page.goto(
    `${first.url}/deliveries/${second.simulator.deliveries.page({ limit: 1 }).deliveries[0]?.id}`,
  );
  await page.getByText("A correct receiver accepts this signature.").waitFor();
  await control(origin, "POST", "/reset", { keep_endpoints: true });
  await page.getByText("There is no delivery").waitFor();
  await page.getByRole("link", { name: "Back to Live" }).click();

  await control(origin, "POST", "/events", { type: "order.created" });
  await rows.getByText(/ ordered/).waitFor();
  expect(second.port).toBe(first.port);
});

test("new events appear without a reload, and a reset empties the list", async () => {
  const { url } = await openDashboard();
  const origin = new URL(url).origin;
  const page = await browser.openPage(url);
  await page.getByText("No endpoint yet").waitFor();

  await control(origin, "POST", "/events", { type: "call.completed" });
  await page.getByText("No endpoint selects it: it was not sent.").waitFor();
  const receiver = await startEndpoint(503);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "voicemail.created" });
  const row = page.locator(".windowed .feed-row").first();
  await row.getByText("503 Unavailable").waitFor();
  await row.getByText("in 1:00").waitFor();
  await control(origin, "POST", "/clock/advance", { seconds: 20 });
  await row.getByText("in 0:40").waitFor();
  receiver.behave(200);
  await control(origin, "POST", "/clock/advance", { seconds: 40 });
  await row.getByText("200 OK").waitFor();
  await page.getByRole("button", { name: "Delivered 1" }).waitFor();

  await control(origin, "POST", "/reset", { keep_endpoints: true });
  await expectShown(page.getByText("No event yet"));
});

test("the clock's modes and buttons do what they say", async () => {
  const { url, simulator } = await openDashboard();
  const receiver = await startEndpoint(500);
  const origin = new URL(url).origin;
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "call.completed" });
  await receiver.until(1);
  const page = await browser.openPage(url);
  const clock = page.getByRole("region", { name: "Schedule clock" });
  await clock.getByText("in 1:00").waitFor();

  const startMs = simulator.clock.now();
  await clock.getByRole("button", { name: "+1 min" }).click();
  await clock.getByText("in 5:00").waitFor();
  expect(simulator.clock.now() - startMs).toBe(60_000);
  await clock.getByRole("button", { name: "+1 h" }).click();
  await receiver.until(4);
  await clock.getByText(/in 1:3\d:/).waitFor();
  await clock.getByRole("button", { name: "To the end" }).click();
  await clock.getByText("none due").waitFor();
  expect(receiver.received).toHaveLength(6);

  await clock.getByRole("button", { name: "Skip" }).click();
  await expect.poll(() => simulator.clock.mode).toBe("skip");
  await control(origin, "POST", "/events", { type: "call.completed" });
  await receiver.until(12);
  await page.getByRole("button", { name: "Gave up 2" }).waitFor();
});

/** A page whose stream can be cut off, and replaced by events of the test. */
const STREAM_IN_HAND = `
  const Stream = EventSource;
  window.EventSource = class extends Stream {
    constructor(url) {
      super(url);
      window.stream = this;
    }
    addEventListener(name, listener) {
      super.addEventListener(name, (message) => (window.isDeaf && message.isTrusted) || listener(message));
    }
  };`;

test("after a gap in the stream, the page trusts reloaded data", async () => {
  const { url, simulator } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(503);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  const page = await browser.openPage(url, { script: STREAM_IN_HAND });
  const rows = page.locator(".windowed .feed-row");
  await page.locator(".connection").getByText("Live").waitFor();
  await control(origin, "POST", "/events", { type: "voicemail.created" });
  await rows.getByText("in 1:00").waitFor();
  await visit(page, `/events/${simulator.events.page({ limit: 1 }).events[0]?.id}`);
  await page.getByText("503 Unavailable").first().waitFor();

  await page.evaluate("window.isDeaf = true");
  receiver.behave(200);
  await control(origin, "POST", "/clock/advance", { seconds: 60 });
  // Stays cut off: events that the service has already sent may still arrive.
  await page.evaluate('window.stream.dispatchEvent(new MessageEvent("resync", { data: "{}" }))');
  await page.getByText("200 OK").first().waitFor();
  await visit(page, "");
  await expectShown(rows.getByText("200 OK"));
});

test("the page shows a request that waits for two seconds", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const page = await browser.openPage(url);
  await page.locator(".connection").getByText("Live").waitFor();
  const held = Promise.withResolvers<void>();
  await page.route("**/control/event-types", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.locator(".connection.slow").getByText("Waiting…").waitFor();
  held.resolve();
  await page.locator(".connection.open").getByText("Live").waitFor();
  expect(await page.locator(".connection.slow").count()).toBe(0);
});
