import { h } from "preact";
import { expect, test } from "vitest";
import type { Delivery } from "../../../simulator/dashboard/app/core/types.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { classOf, clockOf, endpointOf, openForms } from "./forms.ts";

/** An endpoint: its forms, its secret, its card, and its place in the list. */

const { page, live, answers, sent, wait, open } = await openForms();
const { AskedQuestion } = await import("../../../simulator/dashboard/app/components/dialog.tsx");
const { EndpointCard } = await import("../../../simulator/dashboard/app/components/endpoint-card.tsx");
const { EndpointForm, RotateSecret } =
  await import("../../../simulator/dashboard/app/components/endpoint-form.tsx");
const { newSecret, SecretOnce, showSecret } =
  await import("../../../simulator/dashboard/app/components/secret-once.tsx");
const { toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
const { EndpointsPage } = await import("../../../simulator/dashboard/app/pages/endpoints.tsx");

test("an endpoint is registered, and changed, with exactly what its form says", async () => {
  live.organizations = [{ id: "org_1", name: "Trattoria" }] as typeof live.organizations;
  const done = { onClose() {}, onDone() {} };
  const settings = { url: "http://localhost:3000/webhooks", event_types: [], org_id: null, faults: [] };
  answers["/event-types"] = { data: ["a.b", "b.c"].map((type) => ({ type, emitted_when: "" })) };
  const fresh = await open(h(EndpointForm, done));
  const boxes = fresh.root.parts.filter(({ attributes }) => attributes.get("type") === "checkbox");
  const counts = { "every event": 0, "Only this type": 1, "these 2 types": 1 };
  for (const [words, box] of Object.entries(counts)) {
    expect(fresh.words()).toContain(words);
    await boxes[box]?.tell("change");
  }
  await boxes[0]?.tell("change");
  await fresh.submit();
  await fresh.choose("Organization", "org_1");
  await fresh.fill("Name", "Kitchen");
  await fresh.fill("Signing secret", "of mine");
  await fresh.submit();
  const kept = { name: "Kitchen", event_types: ["order.created"], org_id: "org_1", faults: ["delay"] };
  const known = await open(h(EndpointForm, { ...done, endpoint: endpointOf(kept) }));
  await known.submit();
  await known.choose("Organization", "");
  await known.submit();
  expect(toasts.get().at(-1)?.text).toBe("Saved.");
  const url = endpointOf().url;
  expect(sent).toEqual([
    ["POST", "/endpoints", { ...settings, name: "" }],
    ["POST", "/endpoints", { ...settings, name: "Kitchen", org_id: "org_1", secret: "of mine" }],
    ["PATCH", "/endpoints/ep_1", { url, ...kept }],
    ["PATCH", "/endpoints/ep_1", { url, ...kept, org_id: null }],
  ]);
  sent.length = 0;
  const rotate = await open(h(RotateSecret, { ...done, endpoint: endpointOf() }));
  await rotate.submit();
  expect(rotate.words()).toContain("rotated_secret_signs reduces");
  const overlaps = rotate.root.parts.filter(({ localName }) => localName === "option");
  expect(overlaps.map(({ value }) => value).join()).toBe("0,3600,86400,604800");
  await rotate.choose("Overlap with the old one", "3600");
  await rotate.submit();
  expect(sent.map(([, path, body]) => [path, body])).toEqual([
    ["/endpoints/ep_1/rotate", { overlap_seconds: 86_400 }],
    ["/endpoints/ep_1/rotate", { overlap_seconds: 3_600 }],
  ]);
  await known.fill("URL", "http://b/");
  await known.submit();
  expect(toasts.get().at(-1)?.text).toContain("new address");
});

test("an address is checked again while nothing listens there, and is not sent while it is refused", async () => {
  let checks = 0;
  const check = (answer: object) => (answers["/endpoints/check"] = { toJSON: () => (checks++, answer) });
  check({ ok: false, message: "Remove the #fragment." });
  const form = await open(h(EndpointForm, { onClose() {}, onDone() {} }));
  await wait(120);
  expect(form.words()).toContain("Remove the #fragment.");
  expect(form.button("Register").disabled).toBe(true);
  const hints = {
    false: "Nothing listens there yet",
    true: "Good: a server listens",
    null: "Good: events can",
  };
  for (const [listening, hint] of Object.entries(hints)) {
    const is_listening = JSON.parse(listening) as boolean | null;
    check({ ok: true, is_listening });
    await form.fill("URL", `http://localhost:1/${is_listening}`);
    checks = 0;
    for (const ms of [120, 1_000, 1_000]) await wait(ms);
    expect([checks, form.button("Register").disabled]).toEqual([is_listening === false ? 3 : 1, false]);
    expect(form.words()).toContain(hint);
    expect(form.byClass(is_listening === false ? "doubt" : "good")).toHaveLength(1);
  }
  answers["/endpoints/check"] = { toJSON: () => (checks++, expect.fail("no answer")) };
  await form.fill("URL", "http://localhost:1/gone");
  checks = 0;
  for (const ms of [120, 1_000, 1_000]) await wait(ms);
  expect(checks).toBe(3);
});

test("a test event is sent at once only to an endpoint that was found, and its retry is made now", async () => {
  const test = ["POST", "/endpoints/ep_1/test", {}];
  answers["/endpoints/ep_1/test"] = { deliveries: [{ id: "dlv_1" }] };
  const endpoint = { ...endpointOf(), secret: "s3cret" };
  const once = await open(h(SecretOnce, {}));
  showSecret(endpoint);
  await wait();
  expect([sent, once.words().includes("SIGNING_SECRET=s3cret")]).toEqual([[], true]);
  newSecret.set(undefined);
  await wait();
  showSecret(endpoint, { isTested: true });
  await wait();
  expect(sent).toEqual([test]);
  const again = async (more: Partial<Delivery>) => {
    live.feed.put(deliveryAt(1, "dlv_1", { attempts: [attemptAt(1, 401)], ...more }));
    await wait(150);
    sent.length = 0;
    await once.press("Send again");
    return [once.words().includes("Most likely it does not have this secret"), sent];
  };
  const attempt = ["POST", "/deliveries/dlv_1/attempt", {}];
  expect(await again({ state: "attempting", next_attempt_at: at(5) })).toEqual([true, [attempt]]);
  expect(await again({ attempts: [attemptAt(1, 200)] })).toEqual([false, [test]]);
  await once.press("I have copied it");
  expect(once.words()).toBe("");
});

test("a card shows how its endpoint is set and does, and deletes nothing that the simulator keeps", async () => {
  live.organizations = [{ id: "org_1", name: "Trattoria" }] as typeof live.organizations;
  const cardOf = (more: object) => open(h(EndpointCard, { endpoint: endpointOf(more) }));
  const settings = { org_id: "org_1", event_types: ["a.b"], paused: true };
  const answered = { attempts: [] as object[], counted: 0, acknowledged: 0, p95_ms: null };
  answers["/endpoints/ep_1/answers"] = answered;
  expect((await cardOf({})).words()).toMatch(/Nothing sent yet.*Eventsall typesOrganizationall org/);
  const attempts = [500, 200].map((status) => ({ ...attemptAt(1, status), delivery_id: "dlv_1" }));
  answers["/endpoints/ep_1/answers"] = { ...answered, attempts, counted: 1 };
  live.clock = clockOf({ wall_now: at(9_999) });
  const card = await cardOf(settings);
  expect(card.words()).toMatch(
    /Paused.*Acknowledged0 %p95–Last answer200 OK 13:31:00.*Eventsa\.bOrganizationTratt/,
  );
  const tones = {
    plain: {},
    wait: { consecutive_failures: 2 },
    bad: { consecutive_failures: 3, flagged: true },
  };
  for (const [tone, more] of Object.entries(tones))
    expect(classOf((await cardOf(more)).byClass("chip inline")[0])).toBe(`chip inline ${tone}`);
  const asked = await open(h(AskedQuestion, {}));
  await card.press("Resume");
  expect(sent.pop()).toEqual(["PATCH", "/endpoints/ep_1", { paused: false }]);
  answers["/endpoints/ep_1/test"] = { deliveries: [{ id: "dlv_7" }] };
  await card.press("Send a test event");
  expect(toasts.get().at(-1)?.link?.href).toBe("/dashboard/deliveries/dlv_7");
  answers["/endpoints/ep_1/test"] = Response.json({}, { status: 409 });
  await card.press("Send a test event");
  expect(toasts.get().at(-1)?.kind).toBe("bad");
  for (const status of [409, 200]) {
    answers["/endpoints/ep_1"] = Response.json({}, { status });
    await card.press("Delete");
    await asked.press("Delete");
    expect(page.visits).toEqual(status === 409 ? [] : ["replace /dashboard/endpoints"]);
  }
});

test("a card rounds neither to all nor to none, and names an old secret while it signs", async () => {
  const attempts = [{ ...attemptAt(1, 200), delivery_id: "dlv_1" }];
  const shares = { "0/0": "–", "0/3": "0 %", "1/3": "33 %", "1/200": "< 1 %", "5/5": "100 %" };
  const nearly = { "1999/2000": "99.9 %", "9999/10000": "99.9 %" };
  for (const [of, share] of Object.entries({ ...shares, ...nearly })) {
    const [acknowledged, counted] = of.split("/").map(Number);
    answers["/endpoints/ep_1/answers"] = { attempts, counted, acknowledged, p95_ms: 1_500 };
    const { words, close } = await open(h(EndpointCard, { endpoint: endpointOf() }));
    expect(words()).toContain(`Acknowledged${share}p951.5 sLast answer200 OK`);
    await close();
  }
  const old = { previous_secret_until: at(60), previous_secret_last4: "late", consecutive_failures: 2 };
  for (const minute of [59, 60]) {
    live.clock = clockOf({ now: at(minute) });
    const { words, close } = await open(h(EndpointCard, { endpoint: endpointOf(old) }));
    expect(words().includes("and ••••late until")).toBe(minute === 59);
    expect(words()).toContain("2 failures in a row");
    await close();
  }
});

test("failing endpoints come first, and many of them in pages, by what one searches for", async () => {
  const show = (count: number) => {
    const named = (n: number) => endpointOf({ id: `ep_${n}`, name: `n${n}`, flagged: n === 15 });
    live.endpoints = new Map(Array.from({ length: count }, (_, n) => [`ep_${n}`, named(n)]));
    return open(h(EndpointsPage, { query: new URLSearchParams() }));
  };
  for (const [count, turns, words, first] of [
    [20, 0, "1 to 10 of 20", "n15,n0"],
    [20, 1, "11 to 20 of 20", "n9,n10"],
    [21, 2, "21 to 21 of 21", "n20"],
  ] as const) {
    const view = await show(count);
    for (let turn = 0; turn < turns; turn += 1) await view.press("Next");
    const heads = view.all("h2").map((name) => name.trim());
    const names = heads.slice(0, 2).join();
    expect(view.words()).toContain(words);
    expect([names, view.button("Next").disabled]).toEqual([first, turns > 0]);
    await view.close();
  }
  const view = await show(21);
  for (const button of ["Next", "Next"]) await view.press(button);
  live.endpoints = new Map([...(live.endpoints ?? [])].slice(0, 20));
  await view.again(h(EndpointsPage, { query: new URLSearchParams() }));
  expect(view.words()).toContain("11 to 20 of 20");
  await view.fill("Search endpoints", "Failing N15");
  expect(view.words()).toContain("1 to 1 of 1");
  await view.close();
});
