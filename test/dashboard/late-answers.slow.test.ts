import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { emit, register } from "../helpers/simulator.ts";
import { openDashboard, scrollDown, visit } from "./open-dashboard.ts";

const browser = useBrowser();

const SOME_FRAMES =
  "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))";

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

/** Has the page keep a promise for the answer with this mark: it was read, and what comes of that at once is done. */
const noteReading = (mark: string): string => `{
    const { promise, resolve } = Promise.withResolvers();
    (window.readings ??= {})[${JSON.stringify(mark)}] = promise;
    const read = Response.prototype.text;
    Response.prototype.text = async function () {
      const text = await read.call(this);
      if (this.headers.get("kept-back") === ${JSON.stringify(mark)}) setTimeout(resolve);
      return text;
    };
  }`;

/**
 * Keeps back the answer to the next request for `path`, as a slow connection would; `deliver` lets the page have it, and
 * waits until it shows what it made of it.
 */
async function keepBack(
  page: Page,
  path: RegExp,
): Promise<{ answered: Promise<void>; deliver: () => Promise<void> }> {
  const answered = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const delivered = Promise.withResolvers<void>();
  const mark = path.source;
  let isNext = true;
  await page.evaluate(noteReading(mark));
  await page.route(path, async (route) => {
    if (!isNext) return route.continue();
    isNext = false;
    const response = await route.fetch();
    answered.resolve();
    await released.promise;
    await route.fulfill({ response, headers: { ...response.headers(), "kept-back": mark } });
    await page.evaluate(`window.readings[${JSON.stringify(mark)}]`);
    await page.evaluate(SOME_FRAMES);
    delivered.resolve();
  });
  return {
    answered: answered.promise,
    deliver: () => {
      released.resolve();
      return delivered.promise;
    },
  };
}

test("a clock that was asked for before time moved does not set the page back", async () => {
  const { url } = await openDashboard();
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(503);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  const page = await browser.openPage(url, { script: STREAM_IN_HAND });
  const rows = page.locator(".windowed .feed-row");
  await page.locator(".connection").getByText("Live").waitFor();

  const late = await keepBack(page, /\/control\/clock$/);
  const lateAhead = await keepBack(page, /\/control\/clock\/ahead$/);
  await control(origin, "POST", "/events", { type: "voicemail.created" });
  await rows.getByText("in 1:00").waitFor();
  await page.evaluate('window.stream.dispatchEvent(new MessageEvent("resync", { data: "{}" }))');
  await late.answered;
  await control(origin, "POST", "/clock/advance", { seconds: 20 });
  await rows.getByText("in 0:40").waitFor();
  await lateAhead.answered;
  await late.deliver();
  expect(await rows.getByText("in 0:40").count()).toBe(1);

  receiver.behave(200);
  await control(origin, "POST", "/clock/advance", { seconds: 40 });
  await rows.getByText("200 OK").waitFor();
  await page.getByRole("button", { name: "Delivered 1" }).waitFor();
  await lateAhead.deliver();
  expect(await page.locator(".mark-due").count()).toBe(0);
});

test("what happens while the list is on its way is not lost when it comes", async () => {
  const { url } = await openDashboard();
  const origin = new URL(url).origin;
  const page = await browser.openPage(url);
  const rows = page.locator(".windowed .feed-row");
  await page.locator(".feed[aria-busy=false]").waitFor();
  await control(origin, "POST", "/events", { type: "call.completed" });
  await rows.getByText(/ called/).waitFor();

  const late = await keepBack(page, /\/control\/deliveries\?/);
  await control(origin, "POST", "/reset", {});
  await late.answered;
  await control(origin, "POST", "/events", { type: "booking.created" });
  const receiver = await startEndpoint(200);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "order.created" });
  await rows.getByText(/ booked /).waitFor();
  await rows.getByText("200 OK").waitFor();
  await late.deliver();
  // The list is shown when the events that nobody got have come, too.
  await expect.poll(() => rows.getByText(/ called/).count()).toBe(0);
  expect(await rows.getByText(/ booked /).count()).toBe(1);
  expect(await rows.getByText("200 OK").count()).toBe(1);
  await visit(page, "/endpoints");
  await page.getByText(receiver.url).first().waitFor();
});

test("an older page that comes late does not take back what was told of its rows meanwhile", async () => {
  let status = 503;
  const { url, simulator } = await openDashboard({
    calls: 0,
    send: () => Promise.resolve({ outcome: { status }, durationMs: 1 }),
  });
  const origin = new URL(url).origin;
  register(simulator, "http://localhost:1/never-asked");
  emit(simulator, "voicemail.created");
  await control(origin, "POST", "/clock/advance", { seconds: 1 });
  status = 200;
  emit(simulator, "call.completed", 120);
  await simulator.settled();
  const page = await browser.openPage(url);
  const late = await keepBack(page, /\/control\/deliveries\?.*starting_after/);
  await page.locator(".windowed .feed-row").first().waitFor();
  await scrollDown(page);
  await late.answered;
  await control(origin, "POST", "/clock/advance", { seconds: 60 });
  await page.getByRole("button", { name: "Delivered 121" }).waitFor();
  await late.deliver();
  const oldest = page.locator(".windowed .feed-row", { has: page.locator(".voicemail-created") });
  await expect
    .poll(async () => {
      await scrollDown(page);
      return oldest.count();
    })
    .toBe(1);
  expect(await oldest.getByText("200 OK").count()).toBe(1);
});

test("after a gap in what it was told, the page believes what it asks for", async () => {
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
  // Deaf for good: what the service told of it may still be on its way.
  await page.evaluate('window.stream.dispatchEvent(new MessageEvent("resync", { data: "{}" }))');
  await page.getByText("200 OK").first().waitFor();
  await visit(page, "");
  await expectShown(rows.getByText("200 OK"));
});
