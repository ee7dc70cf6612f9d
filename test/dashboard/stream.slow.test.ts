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

/** A page that can be made deaf to the service, and be told something in its place. */
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
