import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createObserver } from "../../simulator/observer/observer.ts";
import { useBrowser } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";
import { openDashboard } from "./open-dashboard.ts";

/** Takes the README's picture anew, of the current page: `LONG_RUNS=1 npx vitest run test/dashboard/pictures.long.ts`. */
const FOLDER = "docs/images";
const SIZE = { width: 1440, height: 820 };

const browser = useBrowser();

test("the README's picture shows the current page", { timeout: 120_000 }, async () => {
  const { url, simulator } = await openDashboard({ seed: 11, calls: 40 });
  const origin = new URL(url).origin;
  const right = await startMutant({}, Date.now);
  const counts = createServer((request, response) => {
    const handled = right.handled(request.url?.slice(1) ?? "");
    response.end(JSON.stringify({ state: handled === 0 ? "unknown" : "done", handled, duplicates: 0 }));
  }).listen(0, "127.0.0.1");
  onTestFinished(async () => {
    counts.close();
    await right.close();
  });
  await new Promise((resolve) => counts.once("listening", resolve));
  const { port } = counts.address() as AddressInfo;
  // A receiver that refuses each event once and accepts it the second time.
  const seen = new Set<string>();
  const wary = await startEndpoint((response, _, { body, signature }) => {
    const { id } = JSON.parse(body.toString()) as { id: string };
    const status = seen.has(id) ? 200 : 401;
    seen.add(id);
    const answer = status === 200 ? { received: true } : { error: "invalid_signature", header: signature };
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  });

  const add = async (endpoint: object) => control(origin, "POST", "/endpoints", endpoint);
  await add({ url: right.url, secret: SECRET });
  await add({ url: wary.url, event_types: ["booking.created", "order.created"] });
  simulator.verdicts.observe(
    createObserver(`http://127.0.0.1:${String(port)}/{id}`),
    simulator.endpoints.list()[0]?.id ?? "",
  );
  const send = async (type: string, faults: string[] = []) =>
    control(origin, "POST", "/events", { type, faults });
  const advance = async (seconds: number) => control(origin, "POST", "/clock/advance", { seconds });
  await send("call.completed");
  await send("order.created");
  await send("call.transferred");
  await send("voicemail.created", ["drop-answer:1"]);
  await send("booking.created", ["duplicate"]);
  await advance(120);
  await send("call.completed", ["bad-signature"]);
  await advance(60);
  await send("order.created");
  await send("voicemail.created");

  const page = await browser.openPage(url, { viewport: SIZE });
  await page.getByText("Answer lost on purpose, retried, handled once").first().waitFor();
  // The upcoming attempts come in a request of their own.
  await page.getByText("2 attempts", { exact: true }).waitFor();
  expect(await page.locator(".feed-row").count()).toBeGreaterThan(10);
  await page.screenshot({ path: `${FOLDER}/dashboard-live.png` });
});
