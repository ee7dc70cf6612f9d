import { expect, test } from "vitest";
import { verify } from "../../shared/signature.ts";
import { expectShown, useBrowser } from "../helpers/browser.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const browser = useBrowser();

/** A receiver that knows the secrets which are given to it. */
async function startReceiver() {
  const secrets: string[] = [];
  const { port, received } = await startEndpoint((response, _count, { path: asked, signature, body }) => {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const verified = verify({ headers: [signature], body, secrets: [...secrets, "none"], nowSeconds });
    response.writeHead(asked === "/webhook" ? (verified.ok ? 200 : 401) : 404).end();
  });
  return { port, secrets, paths: () => received.map((request) => request.path) };
}

test("the first event needs two clicks: the port, and Send again once the secret is known", async () => {
  const receiver = await startReceiver();
  const listeners = [{ host: "127.0.0.1", port: receiver.port }];
  const { url, simulator } = await openDashboard({ listListeners: async () => listeners });
  const page = await browser.openPage(url);
  const port = page.getByRole("button", { name: `:${receiver.port}` });
  await expectShown(port);
  expect(receiver.paths()).toEqual([]);

  await port.click();

  const dialog = page.getByRole("dialog", { name: "The signing secret" });
  const verdict = dialog.getByRole("region", { name: "Test event" });
  await expectShown(verdict.getByText("Not acknowledged so far (401)"));
  await expectShown(verdict.getByText("It does not have this secret yet"));
  expect(simulator.endpoints.list().map((endpoint) => endpoint.url)).toEqual([
    `http://127.0.0.1:${receiver.port}/webhook`,
  ]);

  receiver.secrets.push((await dialog.locator("code.secret").innerText()).trim());
  await verdict.getByRole("button", { name: "Send again" }).click();

  await expectShown(verdict.getByText("200 OK"));
  await expectShown(verdict.getByText("Acknowledged at attempt 2"));
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await page.locator(".feed-row").count()).toBe(1);
  expect(await page.content()).not.toContain(receiver.secrets[0]);
});
