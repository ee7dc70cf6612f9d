import { h } from "preact";
import { expect, test } from "vitest";
import { at, deliveryAt } from "./deliveries.ts";
import { clockOf, endpointOf, openForms } from "./forms.ts";

/** What the palette finds, where its choices lead, and what they do. */

const { page, live, answers, sent, wait, open } = await openForms();
const { Palette } = await import("../../../simulator/dashboard/app/components/palette.tsx");
const { useActions } = await import("../../../simulator/dashboard/app/core/actions.ts");
const { rememberList } = await import("../../../simulator/dashboard/app/core/route.ts");

test("the palette goes through its choices by arrows without leaving them, and searches from two letters on", async () => {
  answers["/deliveries"] = { data: [deliveryAt(1, "dlv_9", { summary: "Ada called" })] };
  live.endpoints = new Map([["ep_1", endpointOf({ name: "Kitchen" })]]);
  let closed = 0;
  const view = await open(h(Palette, { onClose: () => (closed += 1), toggleTheme() {}, openHelp() {} }));
  const input = view.field("Go to, or do");
  const type = async (value: string, ms = 120) => {
    await input.tell("input", { currentTarget: { value } });
    await wait(ms);
    return view.all("li");
  };
  const press = async (...keys: string[]) => {
    for (const name of keys) await input.tell("keydown", { key: name });
    return view.root.parts.find(({ attributes }) => attributes.get("aria-selected") === "true")?.words;
  };
  const [first, last] = ["Open delivery dlv_1x", "Ada calledcall.completed"];
  expect(await type("dlv_1x")).toEqual([first, last]);
  expect([await press("ArrowUp"), await press(...Array<string>(3).fill("ArrowDown"))]).toEqual([first, last]);
  await press("ArrowUp", "Enter");
  expect(page.visits).toEqual(["push /dashboard/deliveries/dlv_1x"]);
  expect([await type("~"), await type("~~", 119), await type("~~~")]).toEqual([[], [], [last]]);
  const own = { key: "r", icon: "resend", words: "Resend this delivery", run() {} } as const;
  for (const [text, action] of [
    ["kit", "Kitchenendpoint"],
    ["dead", "Show what gave up"],
    ["dark", "Change the theme"],
    ["timed", "Show what timed out"],
    ["rotate", "Rotate the secret of Kitchen"],
    ["faults", "Go to Trigger"],
    ["settings", "Go to Open questions"],
    ["rec", "Recover what was lost (resend all that gave up)"],
    ["signature", "Docs: the signature"],
    ["retry", "Docs: webhooks and their retries"],
    ["curl", "Docs: the REST API"],
    ["resend thi", last],
  ] as const) {
    await press("ArrowDown");
    await type(text);
    expect(await press()).toBe(action);
  }
  await open(h(() => (useActions([own]), null), {}));
  expect((await type("resend this"))[0]).toBe(own.words);
  await press("Escape");
  expect(closed).toBe(2);
});

test("each action of the palette goes where it says, or does it, and leads on only if that worked", async () => {
  live.endpoints = new Map([["ep_1", endpointOf({ name: "Kitchen" })]]);
  live.about = { event_types: ["order.created"] } as never;
  rememberList("/?state=dead");
  const done: string[] = [];
  const toggles = { toggleTheme: () => done.push("theme"), openHelp: () => done.push("help") };
  const does = async (words: string) => {
    const view = await open(h(Palette, { onClose() {}, ...toggles }));
    await view.fill("Go to, or do", words);
    await view.root.parts.find(({ localName }) => localName === "li")?.tell("click");
    await view.close();
    const asked = sent.splice(0).map(([, path, body]) => `${path} ${JSON.stringify(body)}`);
    return [...asked, ...page.visits.splice(0), ...done.splice(0)].join();
  };
  answers["/clock/advance"] = clockOf({ now: at(7) });
  answers["/events"] = { events: [{ id: "evt_1" }], deliveries: [] };
  for (const [words, what] of [
    ["go to live", "push /dashboard?state=dead"],
    ["go to world", "push /dashboard/world"],
    ["what is not right", "push /dashboard?verdict=not"],
    ["what gave up", "push /dashboard?state=lost"],
    ["what timed out", "push /dashboard?q=status:timeout"],
    ["register an endpoint", "push /dashboard/endpoints?new"],
    ["recover what was lost", "push /dashboard?state=lost&resend"],
    ["docs: objects", "push /dashboard/docs#objects"],
    ["deliveries to kitchen", "push /dashboard?endpoint=ep_1"],
    ["rotate the secret of", "push /dashboard/endpoints/ep_1?rotate"],
    ["evt_9x", "push /dashboard/events/evt_9x"],
    ["ep_9x", "push /dashboard/endpoints/ep_9x"],
    ["change the theme", "theme"],
    ["keyboard", "help"],
    ["step to the next", '/clock/advance {"until":"next"}'],
    ["one minute", '/clock/advance {"seconds":60}'],
    ["one hour", '/clock/advance {"seconds":3600}'],
    ["until nothing waits", '/clock/advance {"until":"idle"}'],
    ["trigger order", '/events {"type":"order.created"},push /dashboard/events/evt_1'],
    ["verify kitchen", "/endpoints/ep_1/verify {},push /dashboard/verify"],
  ] as const)
    expect([words, await does(words)]).toEqual([words, what]);
  expect(live.clock?.now).toBe(at(7));
  answers["/events"] = { events: [{ id: "evt_1" }], deliveries: [{ id: "dlv_1" }] };
  expect(await does("trigger order")).toContain(",push /dashboard/deliveries/dlv_1");
  for (const path of ["/events", "/endpoints/ep_1/verify"])
    answers[path] = Response.json({ message: "no" }, { status: 409 });
  for (const words of ["trigger order", "verify kitchen"]) expect(await does(words)).toMatch(/\}$/);
});
