import { expect, test } from "vitest";
import { AXE, expectAccessible } from "../helpers/axe.ts";
import { useBrowser } from "../helpers/browser.ts";
import { serveAdmin } from "../receiver/operations/admin.ts";
import { dead, openInbox } from "../receiver/operations/inbox.ts";

/** The receiver's page for operators, as a browser shows it. */
const browser = useBrowser();

/** Short texts that wrap to more than two lines, and whether the page is wider than the window. */
const BROKEN = `[...document.querySelectorAll("td:not(.wide, :has(.button)), th")]
  .filter((cell) => {
    const words = document.createRange();
    words.selectNodeContents(cell);
    return cell.textContent.length < 60 && words.getBoundingClientRect().height > 64;
  })
  .map((cell) => cell.textContent)
  .concat(document.documentElement.scrollWidth > innerWidth ? ["too wide"] : [])`;

test("an operator sees why events are dead, discards one with a reason, and requeues the others of its cause", async () => {
  const inbox = await openInbox();
  const ids: string[] = [];
  for (let count = 0; count < 4; count++)
    ids.push(await inbox.handled(dead(`Customer cus_9s6XKzkNRi${count} of 10.0.0.${count}:5432 is unknown`)));
  await inbox.handled(dead("HTTP 500"), { handler: "kitchen", type: "order.created" });
  const { url } = await serveAdmin(inbox);
  for (const width of [1440, 1024, 390]) {
    const page = await browser.openPage(url, { script: AXE, viewport: { width, height: 844 } });
    const question = "/confirm?action=discard&state=dead";
    for (const path of ["/", "/events?state=dead", `/event?id=${ids[0] ?? ""}`, question, "/actions"]) {
      await page.goto(url + path);
      expect(await page.evaluate(BROKEN), `${path} at ${String(width)}`).toEqual([]);
      // Without scripts, this is how a page reloads itself.
      await page.evaluate(`document.querySelector("meta[http-equiv]")?.remove()`);
      await expectAccessible(page);
    }
  }

  const page = await browser.openPage(url);
  await page.getByRole("link", { name: "Customer <id> of <address> is unknown" }).click();
  await page.getByRole("button", { name: "Discard the chosen…" }).click();
  await page.getByText("id: tick an event first", { exact: true }).waitFor();
  await page.goBack();
  await page.getByLabel(`Choose ${ids[0] ?? ""}`).check();
  await page.getByRole("button", { name: "Discard the chosen…" }).click();
  await page.getByRole("row", { name: "log-call Customer <id> of <address> is unknown 1" }).waitFor();
  await page.getByLabel("Reason").fill("a test customer");
  await page.getByRole("button", { name: "Discard 1 job" }).click();
  await page.getByRole("link", { name: "discard: 1 chosen" }).click();
  await page.getByText("a test customer").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  const row = page.getByRole("row", { name: /^log-call Customer/ });
  await row.getByRole("link", { name: "Requeue…" }).click();
  await page.getByRole("button", { name: "Requeue 3 jobs" }).click();
  await page.getByRole("row", { name: /^requeue: dead, log-call, .* 3 of 3 jobs done/ }).waitFor();
  // The page reloads until it shows the result.
  await page.getByRole("link", { name: "Overview" }).click();
  const [job] = await inbox.jobs.claim("log-call", 1);
  if (job !== undefined) await inbox.jobs.end(job, dead("another error"));
  await page.getByRole("link", { name: "another error" }).waitFor();
});
