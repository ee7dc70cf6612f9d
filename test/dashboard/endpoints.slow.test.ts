import { expect, test } from "vitest";
import { verify } from "../../shared/signature.ts";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard, visit } from "./open-dashboard.ts";

const browser = useBrowser();

test("a card shows its endpoint's recent answers, without failures that we injected", async () => {
  const tookMs = [3, 30, 300, 3_000];
  const { url, simulator } = await openDashboard({
    calls: 0,
    send: () => {
      const durationMs = tookMs.shift();
      return Promise.resolve(
        durationMs === undefined
          ? { outcome: { error: "refused" as const }, durationMs: 1 }
          : { outcome: { status: durationMs === 300 ? 500 : 200 }, durationMs },
      );
    },
  });
  const origin = new URL(url).origin;
  await control(origin, "POST", "/endpoints", { url: "http://localhost:1/never-asked" });
  const page = await browser.openPage(`${url}/endpoints`);
  await page.getByText("Nothing sent yet.").waitFor();
  // Schedule time, as everywhere: the clock stands still until it is advanced.
  await control(origin, "POST", "/clock/advance", { seconds: 7_200 });
  const { body: clock } = await control<{ now: string }>(origin, "GET", "/clock");
  const send = async (...faults: string[]) => {
    await control(origin, "POST", "/events", { type: "call.completed", faults });
    await simulator.settled();
  };
  const answers = page.locator(".answers");
  const figures = () => answers.locator("dd").allTextContents();
  await send();
  await expect.poll(async () => (await figures()).slice(0, 2)).toEqual(["100 %", "3 ms"]);
  for (let sent = 1; sent < 4; sent++) await send();
  const time = `new Date(${Date.parse(clock.now)}).toTimeString().slice(0, 5)`;
  await expect
    .poll(figures)
    .toEqual(["75 %", "3.0 s", expect.stringContaining(`200 OK ${String(await page.evaluate(time))}`)]);

  // A refused connection has no answer time, and an attempt that we broke does not count.
  await send("bad-signature");
  await send();
  await expect.poll(figures).toEqual(["60 %", "3.0 s", expect.stringMatching(/^ ?refused \d\d:/)]);
  await answers.getByRole("link", { name: "refused" }).click();
  await page.getByText("Nothing listened at the address. Start the receiver").waitFor();
});

test("a secret is rotated: both sign while they overlap, and the new one is shown once", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(200);
  const { body } = await control<{ id: string; secret: string }>(origin, "POST", "/endpoints", {
    url: receiver.url,
  });
  const page = await browser.openPage(`${url}/endpoints`);
  await page.getByRole("button", { name: "Rotate" }).click();
  const dialog = page.getByRole("dialog", { name: "Rotate the signing secret" });
  await dialog.getByLabel("Overlap with the old one").selectOption({ label: "One hour" });
  await dialog.getByRole("button", { name: "Rotate" }).click();
  const once = page.getByRole("dialog", { name: "The signing secret" });
  await once.getByText("the old one signs, too").waitFor();
  const secret = (await once.locator("code.secret").innerText()).trim();
  await once.getByRole("button", { name: "I have copied it" }).click();
  const facts = page.locator(".endpoint .facts", { hasText: "Secret" });
  await facts.getByText(`••••${secret.slice(-4)} and ••••${body.secret.slice(-4)} until`).waitFor();
  expect(await page.content()).not.toContain(secret);

  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await page.getByText("A correct receiver accepts this signature.").waitFor();
  const [received] = receiver.received;
  const { signature = "", body: sent = Buffer.alloc(0), t = 0 } = received ?? {};
  for (const one of [secret, body.secret])
    expect(verify({ headers: [signature], body: sent, secrets: [one], nowSeconds: t }).ok).toBe(true);

  await simulator.clock.advance(3_600);
  await page.goto(`${url}/endpoints`);
  await facts.getByText(`••••${secret.slice(-4)}`).waitFor();
  expect(await facts.textContent()).not.toContain("until");
  // Attempts that were signed with both secrets stay correct.
  await page.goBack();
  await page.getByText("A correct receiver accepts this signature.").waitFor();
});

test("an endpoint is changed, shows the name it was given, and gets no new events while it is paused", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint(200);
  await control(origin, "POST", "/endpoints", { url: "http://localhost:1/old" });
  const page = await browser.openPage(`${url}/endpoints`);
  await page.getByRole("link", { name: "Edit" }).click();
  const form = page.getByRole("dialog", { name: "Edit the endpoint" });
  await form.getByLabel("URL", { exact: true }).fill(receiver.url);
  await form.getByLabel("Name").fill("Kitchen");
  for (const fold of await form.locator("summary").all())
    expect((await fold.boundingBox())?.height).toBeGreaterThanOrEqual(24);
  await form.getByText("Good: a server listens there.").waitFor();
  await form.getByRole("button", { name: "Save" }).click();
  const card = page.locator(".endpoint", { hasText: "Kitchen" });
  await card.getByRole("button", { name: "Pause" }).click();
  await card.getByText("Paused: no new events").waitFor();
  await control(origin, "POST", "/events", { type: "order.created" });
  await card.getByRole("button", { name: "Send a test event" }).click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await page.getByText("A correct receiver accepts this signature.").waitFor();
  await visit(page, "/endpoints");
  await card.getByRole("button", { name: "Resume" }).click();
  await card.getByRole("button", { name: "Pause" }).waitFor();
  await control(origin, "POST", "/events", { type: "booking.created" });
  await receiver.until(2);
  expect(receiver.received.map(({ body }) => (JSON.parse(String(body)) as { type: string }).type)).toEqual([
    "call.completed",
    "booking.created",
  ]);
  await visit(page, "");
  await page.getByText("No endpoint selects it: it was not sent.").waitFor();
  await page.getByLabel("Endpoint", { exact: true }).selectOption({ label: "Kitchen" });
  await page.locator(".windowed .feed-row", { hasText: "Kitchen" }).nth(1).waitFor();
});
