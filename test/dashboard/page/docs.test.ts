import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { h } from "preact";
import { expect, test, vi } from "vitest";
import type { OpenApi } from "../../../simulator/dashboard/app/core/openapi.ts";
import { LANGUAGES, snippet } from "../../examples/languages.ts";
import { openForms } from "./forms.ts";

const { answers, live, called, wait, open } = await openForms();
const openapi = JSON.parse(
  readFileSync(new URL("../../../simulator/openapi/openapi.json", import.meta.url), "utf8"),
) as OpenApi;

async function openDocs() {
  const { DocsPage } = await import("../../../simulator/dashboard/app/pages/docs.tsx");
  answers["/openapi.json"] = openapi;
  live.organizations = [{ id: "org_1", name: "Trattoria", api_key: "k1" }] as typeof live.organizations;
  const view = await open(h(DocsPage, {}));
  const labelled = (name: string) =>
    view.root.parts.find((part) => part.attributes.get("aria-label") === name);
  const rows = (name: string) => {
    const all = labelled(name)?.parts.filter(({ localName }) => localName === "tr") ?? [];
    return all.slice(1).map(({ childNodes }) => childNodes.map(({ words }) => words).join(": "));
  };
  return { ...view, labelled, rows };
}

test("the docs have each path, event, object and field of the contract, with bounds, forms and links", async () => {
  const { rows, all, words, root } = await openDocs();
  const { paths, webhooks, components } = openapi;
  const objects = Object.entries(components.schemas).filter(([name]) => !/(?:List|Event)$/.test(name));
  expect(all("h3").slice(0, Object.keys(paths).length)).toEqual(
    Object.keys(paths).map((path) => `GET ${path}`),
  );
  for (const type of Object.keys(webhooks)) expect(all("h3")).toContain(type);
  for (const [name, { properties = {} }] of objects)
    expect(rows(`Fields of ${name}`).map((row) => row.split(/sometimes:|:/)[0])).toEqual(
      Object.keys(properties),
    );
  expect(rows("Parameters of /api/v1/calls")).toContain(
    "limit: Items on the page. 1 to 100. 25 where absent.",
  );
  expect(rows("Errors of /api/v1/calls").map((row) => row.slice(0, 4))).toEqual(["400:", "401:", "500:"]);
  expect(rows("The retry policy").join()).toBe("1: at once,2: +1 min,3: +5 min,4: +30 min,5: +2 h,6: +12 h");
  for (const [name, row] of [
    ["Call", 'object: "call": '],
    ["Call", "id: string: Begins with call_"],
    ["Call", "phone: string: A phone number with its country code: +12125550142"],
    ["Call", "created_at: string: UTC, to the second: 2026-01-31T18:05:09Z"],
    ["Voicemail", "notes: string or null: "],
    ["Organization", "api_scopes: list of string: Scopes of the calling key"],
    ["the envelope", "data: { object }: What the event is about, as below"],
  ] as const)
    expect(rows(`Fields of ${name}`)).toContain(row);
  expect(rows("Fields of Call").find((row) => row.startsWith("transfer_to"))).toContain(": not stated: ");
  const answered = ["an Organization", "a page of Agent", "a page of Call", "a page of Voicemail"];
  expect(all("h4").slice(0, 4)).toEqual(answered.map((words) => `Answers 200, ${words}`));
  expect(words()).toContain("data.object is an Order.");
  const links = (href: string) => root.parts.filter(({ attributes }) => attributes.get("href") === href);
  expect([links("#Call").length, links("/dashboard/trigger?type=order.created").length]).toEqual([4, 1]);
});

test("a call from the docs carries the chosen key and what was filled in, and shows any answer", async () => {
  const { labelled, fill, words } = await openDocs();
  const send = async (path: string, answer: object) => {
    answers[`/api/v1/calls${path}`] = answer;
    await labelled("Try /api/v1/calls")?.tell("submit");
    await wait();
    return labelled("Try /api/v1/calls")?.words.match(/Send(.*?)What/)?.[1];
  };
  const slow = { toJSON: () => (vi.advanceTimersByTime(34), { data: [] }) };
  expect(await send("", slow)).toBe("20034 ms");
  await fill("limit", "2");
  expect(labelled("/api/v1/calls as curl")?.words).toBe(
    "curl -i \\\n  -H 'Authorization: Bearer k1' \\\n  'http://simulator/api/v1/calls?limit=2'",
  );
  const key = labelled("Try /api/v1/calls")?.parts.find(({ localName }) => localName === "select");
  await key?.tell("change", { currentTarget: { value: "" } });
  expect(await send("?limit=2", new Response("no key", { status: 401 }))).toBe("4010 ms");
  expect(words()).toContain("no key");
  expect(called).toEqual([
    ["/api/v1/calls", "Bearer k1"],
    ["/api/v1/calls?limit=2", null],
  ]);
});

test("the docs sign an example as a sender does", async () => {
  const { fill, labelled } = await openDocs();
  const header = async () => (await wait(), labelled("Signature header")?.words);
  const signed = (secret: string) => createHmac("sha256", secret).update('17.{"é":1}').digest("hex");
  for (const [label, value] of Object.entries({ t: "17", Body: '{"é":1}', Secret: "mine" }))
    await fill(label, value);
  await expect.poll(header).toBe(`X-Service-Signature: t=17,v1=${signed("mine")}`);
  await fill("Secret", "");
  await expect.poll(header).toBe("X-Service-Signature: t=17,v1=…");
});

test("the docs have the same code as the page about signatures", () => {
  for (const [at, file] of ["node", "python", "go", "php", "ruby"].entries()) {
    const path = `../../../simulator/dashboard/app/snippets/${file}.txt`;
    expect(readFileSync(new URL(path, import.meta.url), "utf8")).toBe(snippet(LANGUAGES[at]?.name ?? ""));
  }
  expect(LANGUAGES).toHaveLength(5);
});
