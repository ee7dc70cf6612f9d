import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { useBrowser, type WatchedPage } from "../helpers/browser.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { HOSTILE_PAYLOADS } from "./hostile-payloads.ts";
import { openDashboard, visit } from "./open-dashboard.ts";

const browser = useBrowser();

/** The payloads whose details are opened; the lists contain all of them. */
const OPENED = HOSTILE_PAYLOADS.filter((_, index) => ALL || index % 7 === 0);

/** Searches everything that is added to the page for elements that our templates never create. */
const WATCH_ELEMENTS = `
  globalThis.foundElements = new Set();
  const forbidden = "img, iframe, object, embed, form[action], base, math, #app style, meta[http-equiv], marquee, template," +
    "[onerror], [onload], [onclick], [onfocus], [onbegin], [ontoggle], [onstart], [srcdoc], #app script, #app link";
  const look = (element) => {
    const url = element.getAttribute("href") ?? element.getAttribute("src") ?? "";
    if (element.matches(forbidden) || /^\\s*(javascript|data|vbscript):/i.test(url)) foundElements.add(element.outerHTML);
  };
  new MutationObserver((changes) => {
    for (const { addedNodes, target } of changes) {
      for (const element of [target, ...addedNodes]) {
        if (!(element instanceof Element)) continue;
        look(element);
        element.querySelectorAll("*").forEach(look);
      }
    }
  }).observe(document, { subtree: true, childList: true, attributes: true });
`;

test("transcripts, names, messages and recordings are shown as text", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  for (const payload of HOSTILE_PAYLOADS) {
    const object = { customer_name: payload, message_text: payload, notes: payload, reason: payload };
    await control(origin, "POST", "/events", { type: "voicemail.created", object });
    const call = {
      transcript: `Agent: ${payload}\nCaller: ${payload}`,
      recording_url: payload,
      outcome: payload,
      detected_language: payload,
      transferred: true,
      transfer_to: { [payload]: payload },
    };
    await control(origin, "POST", "/events", { type: "call.completed", object: call });
  }
  const page = await browser.openPage(`${url}/world/voicemails`, { script: WATCH_ELEMENTS });

  const names = page.locator(".row b");
  await expect.poll(() => names.count()).toBe(HOSTILE_PAYLOADS.length);
  expect((await names.allTextContents()).toSorted()).toEqual(HOSTILE_PAYLOADS.toSorted());
  await expectHarmless(page);

  await visit(page, "/world/calls");
  const rows = page.locator(".row");
  await expect.poll(() => rows.count()).toBe(HOSTILE_PAYLOADS.length);
  const outcomes = await rows.locator(".row-side").allTextContents();
  for (const payload of OPENED) {
    await rows.nth(outcomes.findIndex((words) => words.startsWith(`${payload} · `))).dispatchEvent("click");
    const dialog = page.getByRole("dialog");
    expect(await dialog.locator(".transcript").textContent()).toContain(payload.trim());
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
  await expectHarmless(page);
});

test("event types, answers and headers are shown as text", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const origin = new URL(url).origin;
  const receiver = await startEndpoint((response, count) => answerWith(response, payloadNumber(count - 1)));
  await control(origin, "POST", "/endpoints", { url: `${receiver.url}?next=%22%3E%3Cscript%3E` });
  const ids: string[] = [];
  for (const [index, payload] of HOSTILE_PAYLOADS.entries()) {
    const envelope = {
      id: `evt_${String(index).padStart(32, "0")}`,
      type: payload,
      created: 1,
      api_version: payload,
      data: { object: { object: payload, [payload]: payload } },
      org_id: payload,
    };
    const replayed = await control<{ deliveries: { id: string }[] }>(origin, "POST", "/replay", {
      envelopes: [envelope],
    });
    const [delivery] = replayed.body.deliveries;
    ids.push(delivery?.id ?? "");
    await receiver.until(index + 1);
  }
  const page = await browser.openPage(url, { script: WATCH_ELEMENTS });
  await page.locator(".feed-row").first().waitFor();
  await expectHarmless(page);

  for (const payload of OPENED) {
    await visit(page, `/deliveries/${ids[HOSTILE_PAYLOADS.indexOf(payload)]}`);
    const raw = page.getByRole("region", { name: "Answer body" });
    await expect.poll(() => raw.textContent().catch(() => "")).toBe(shownOf(payload));
    expect(await page.locator(".delivery-facts code").first().textContent()).toBe(shownOf(payload));
  }
  await expectHarmless(page);
  await visit(page, `/events/evt_${"0".repeat(32)}`);
  await page.getByRole("region", { name: "Envelope" }).waitFor();
  await expectHarmless(page);
});

test("the page's own address is shown as text, too", async () => {
  const { url } = await openDashboard({ calls: 0 });
  const payload = '"><img src=x onerror=hit()>';
  const page = await browser.openPage(`${url}/deliveries/${encodeURIComponent(payload)}`, {
    script: WATCH_ELEMENTS,
  });
  await page.getByText("There is no delivery").waitFor();
  await expectHarmless(page);
  await page.goto(`${url}/?q=${encodeURIComponent(payload)}`);
  await page.getByText("Nothing matches").waitFor();
  expect(await page.getByPlaceholder("Search").inputValue()).toBe(payload);
  await expectHarmless(page);
});

test("an id in the address cannot climb to another route of the control API", async () => {
  const { url, simulator } = await openDashboard({ calls: 0 });
  await control(new URL(url).origin, "POST", "/events", { type: "call.completed" });
  const page = await browser.openPage(url);
  for (const id of ["..%2freset%3f", "..%2f..%2fcontrol%2freset%3f", "%2e%2e", "..", "%E0%A4%A"]) {
    await page.evaluate(`history.pushState(null, "", "/dashboard/deliveries/" + ${JSON.stringify(id)});
      dispatchEvent(new PopStateEvent("popstate"))`);
    await page.locator("h1").first().waitFor();
    for (const key of ["r", "a", "r"]) await page.keyboard.press(key);
  }
  await visit(page, "/deliveries/dlv_nothing");
  await page.getByText("There is no delivery").waitFor();
  expect(simulator.counts.events()).toBe(1);
});

test("control: a payload of markup runs in an unprotected page", async () => {
  const page = await browser.openPage("about:blank");
  await page.setContent(`<img src="x" onerror="globalThis.hit = true">`);
  await expect.poll(() => page.evaluate("globalThis.hit")).toBe(true);
});

function payloadNumber(index: number): string {
  return HOSTILE_PAYLOADS[index % HOSTILE_PAYLOADS.length] ?? "";
}

function answerWith(response: ServerResponse, payload: string): void {
  // HTTP restricts the characters of a header.
  const value = payload.replaceAll(/[^\t\x20-\x7e]/g, "");
  response.writeHead(200, { "x-hostile": value, "set-cookie": [value, "a=1"], "content-type": "text/html" });
  response.end(payload);
}

/** No payload has become an element, a link that runs code, or a script that ran. */
async function expectHarmless(page: WatchedPage): Promise<void> {
  expect(await page.evaluate("[...foundElements]")).toEqual([]);
  expect(await page.evaluate("globalThis.hit")).toBeUndefined();
  expect(page.complaints).toEqual({ errors: [], violations: [] });
}

/** Direction controls are escaped, because they would reverse the text next to them. */
function shownOf(payload: string): string {
  return payload.replace("\u202e", "‹U+202E›").replace("\u202c", "‹U+202C›");
}
