import { h } from "preact";
import { expect, test } from "vitest";
import type { Delivery } from "../../../simulator/dashboard/app/core/types.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { clockOf, endpointOf, openForms } from "./forms.ts";

/** Forms, questions and buttons: what is sent when they are pressed. */

const { page, live, answers, sent, wait, open } = await openForms();

test("an endpoint is registered, and changed, with exactly what its form says", async () => {
  const { EndpointForm, RotateSecret } =
    await import("../../../simulator/dashboard/app/components/endpoint-form.tsx");
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
});

test("an error is in the words of the answer or in ours, and an id cannot climb to another route", async () => {
  const { control } = await import("../../../simulator/dashboard/app/core/api.ts");
  const silent = { toJSON: () => expect.fail("no connection") };
  const broken = new Response("<html>", { status: 502, statusText: "Bad Gateway" });
  for (const [answer, status, message] of [
    [Response.json({ message: "It ended." }, { status: 409 }), 409, "It ended."],
    [broken, 502, "The simulator answered 502 Bad Gateway."],
    [new Response("", { status: 500 }), 500, "The simulator answered 500."],
    [silent, 0, "The simulator does not answer. Is it still running? This page reloads when it does."],
  ] as const) {
    answers["/jobs/a/cancel"] = answer;
    await expect(control.post("/jobs/a/cancel")).rejects.toMatchObject({ status, message });
  }
  answers["/endpoints/ep_1"] = new Response(null, { status: 204 });
  expect(await control.delete("/endpoints/ep_1")).toBeUndefined();
  sent.length = 0;
  const climbing = "/control/jobs/../reset/cancel does not exist.";
  await expect(control.post("/jobs/../reset/cancel")).rejects.toThrow(climbing);
  expect(sent).toEqual([]);
});

test("an address is checked again while nothing listens there, and is not sent while it is refused", async () => {
  const { EndpointForm } = await import("../../../simulator/dashboard/app/components/endpoint-form.tsx");
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
  await form.close();
});

test("a question is answered by its button and by nothing else, and gives the focus back", async () => {
  const { AskedQuestion, isMeant } = await import("../../../simulator/dashboard/app/components/dialog.tsx");
  const asked = await open(h(AskedQuestion, {}));
  const before = asked.root;
  for (const press of ["Delete", "Keep it", "Close"]) {
    before.focus();
    const isExpected = press === "Delete";
    const answer = isMeant({ title: "Sure?", action: "Delete", text: "It is lost.", isExpected });
    await wait();
    const first = asked.root.parts.find(({ attributes }) => attributes.has("autofocus"));
    expect(first?.words).toBe(isExpected ? "Delete" : "Keep it");
    asked.button(press).focus();
    await asked.press(press);
    expect([await answer, asked.words(), document.activeElement]).toEqual([press === "Delete", "", before]);
  }
});

test("skipping asks first where anything waits, and deleting and resetting always do", async () => {
  const { AskedQuestion } = await import("../../../simulator/dashboard/app/components/dialog.tsx");
  const { ClockBar } = await import("../../../simulator/dashboard/app/components/clock-bar.tsx");
  const { StartAfresh } = await import("../../../simulator/dashboard/app/pages/trigger.tsx");
  const { EndpointCard } = await import("../../../simulator/dashboard/app/components/endpoint-card.tsx");
  const skip = ["PATCH", "/clock", { mode: "skip" }];
  const reset = ["POST", "/reset", { keep_endpoints: true }];
  const remove = ["DELETE", "/endpoints/ep_1", null];
  const pause = ["PATCH", "/endpoints/ep_1", { paused: true }];
  const answered: [answer: string, sent: number][] = [];
  for (const [component, press, action, request, attempting, mode = "manual"] of [
    [h(ClockBar, {}), "Skip", "Skip", skip, 1],
    [h(ClockBar, {}), "Skip", undefined, skip, 0],
    [h(ClockBar, {}), "Skip", undefined, skip, 1, "skip"],
    [h(ClockBar, {}), "Real", undefined, ["PATCH", "/clock", { mode: "real" }], 1],
    [h(StartAfresh, {}), "Reset…", "Reset", reset, 0],
    [h(EndpointCard, { endpoint: endpointOf() }), "Delete", "Delete", remove, 0],
    [h(EndpointCard, { endpoint: endpointOf() }), "Pause", undefined, pause, 0],
  ] as const) {
    sent.length = 0;
    live.clock = clockOf({ mode, deliveries: { attempting, delivered: 0, dead: 0 } });
    const [asked, view] = [await open(h(AskedQuestion, {})), await open(component)];
    for (const answer of action === undefined ? [] : ["Close", action]) {
      await view.press(press);
      await asked.press(answer);
      answered.push([answer, sent.length]);
    }
    if (action === undefined) await view.press(press);
    await wait();
    expect(sent).toEqual([request]);
    for (const { close } of [view, asked]) await close();
  }
  expect(answered.filter(([, count]) => count === 0).map(([answer]) => answer)).toEqual(
    Array(3).fill("Close"),
  );
});

test("an event is edited and sent to its endpoint alone, as another or as a duplicate", async () => {
  const { EditAndSend } = await import("../../../simulator/dashboard/app/components/edit-and-send.tsx");
  const delivery = deliveryAt(1, "a");
  const attempt = { request: { body: '{"id":"evt_1"}' } } as never;
  const ids: string[] = [];
  const onSent = (id: string) => ids.push(id);
  const form = await open(h(EditAndSend, { delivery, attempt, onSent, onClose() {} }));
  answers["/replay"] = { deliveries: [] };
  await form.fill("The event", "{");
  await form.submit();
  expect([sent, form.button("Send").disabled]).toEqual([[], true]);
  await form.fill("The event", '{"id":"evt_2"}');
  await form.submit();
  await form.root.parts.find(({ attributes }) => attributes.get("type") === "checkbox")?.tell("change");
  await form.submit();
  const body = { envelopes: [{ id: "evt_2" }], new_ids: true, endpoint_id: "ep_1", faults: [] };
  expect(sent.map(([, path, of]) => [path, of])).toEqual(
    [body, { ...body, new_ids: false }].map((of) => ["/replay", of]),
  );
  expect(ids).toEqual([]);
});

test("faults are for every attempt until a number is chosen, and each has its own", async () => {
  const { FaultPicker } = await import("../../../simulator/dashboard/app/components/field.tsx");
  answers["/faults"] = { data: ["delay", "drop-answer"].map((name) => ({ name, at: "wire", title: "" })) };
  const changes: string[][] = [];
  const picker = (chosen: string[]) => h(FaultPicker, { chosen, onChange: (next) => changes.push(next) });
  const { root, choose, again, close } = await open(picker(["delay:2"]));
  const box = (at: number) =>
    root.parts.filter(({ attributes }) => attributes.get("type") === "checkbox")[at]?.tell("change");
  await box(1);
  await box(0);
  await choose("Attempts with delay", "");
  await again(picker(["delay", "drop-answer"]));
  await choose("Attempts with drop-answer", "5");
  expect(changes).toEqual([["delay:2", "drop-answer"], [], ["delay"], ["delay", "drop-answer:5"]]);
  await close();
});

test("a resend sends what was chosen, or what matches, and everything only under its own name", async () => {
  const { Resend } = await import("../../../simulator/dashboard/app/components/resend.tsx");
  const { picked, NOTHING_PICKED } = await import("../../../simulator/dashboard/app/core/picked.ts");
  const { NO_FILTERS } = await import("../../../simulator/dashboard/app/core/filters.ts");
  const counts = [{ event_type: "a", endpoint_id: "ep_1", count: 2 }];
  for (const [ids, isAll, filters, body] of [
    [["a", "b"], false, { state: "dead" }, { ids: ["a", "b"] }],
    [["a", "b"], true, { state: "dead", endpoint: "ep_1" }, { state: "dead", endpoint_id: "ep_1" }],
    [[], false, { q: " " }, { since: "1970-01-01T00:00:00Z" }],
  ] as const) {
    sent.length = 0;
    picked.set({ ids, isAll, last: undefined });
    answers["/deliveries/resend"] = { total: 2, counts };
    const view = await open(h(Resend, { filters: { ...NO_FILTERS, ...filters }, onClose() {} }));
    const figures = { total: 5_000, sent: 1_200, acknowledged: 1_100, failed: 7, counts, problem: null };
    const job = { ...figures, object: "job", id: "job_1", state: "sending", ended_at: null };
    answers["/deliveries/resend"] = job;
    await view.press("Send 2 again");
    await wait(150);
    expect(sent.map(([, , asked]) => asked)).toEqual([{ ...body, dry_run: true }, body]);
    const words = "Sending: 1,200 of 5,000, 1,100 acknowledged, 7 failed again, 93 on the way.";
    expect(view.words()).toContain(words);
    answers["/jobs/job_1/cancel"] = { ...job, state: "canceled", ended_at: at(1) };
    await view.press("Cancel");
    expect([sent.at(-1)?.[1], live.jobs[0]?.state]).toEqual(["/jobs/job_1/cancel", "canceled"]);
    await view.close();
    live.jobs = [];
  }
  picked.set(NOTHING_PICKED);
});

test("a test event is sent at once only to an endpoint that was found, and its retry is made now", async () => {
  const { SecretOnce, showSecret, newSecret } =
    await import("../../../simulator/dashboard/app/components/secret-once.tsx");
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

test("a found receiver is registered, another asks for its path, and what is not HTTP is left", async () => {
  const { EmptyFeed } = await import("../../../simulator/dashboard/app/components/feed-empty.tsx");
  const { newSecret } = await import("../../../simulator/dashboard/app/components/secret-once.tsx");
  answers["/listeners"] = { data: [{ host: "127.0.0.1", port: 3000 }] };
  const view = await open(h(EmptyFeed, {}));
  const [url, register] = ["http://a/b", [["POST", "/endpoints", { url: "http://a/b" }]]];
  for (const finding of ["refuses_unsigned", "takes_unsigned", "fails", "no_path", "not_http"]) {
    answers["/listeners/probe"] = { finding, url, sentence: `It is ${finding}.` };
    await view.press(":3000");
    await wait();
    expect(view.words()).toContain("Listening on this machine: press your receiver's port.");
    const [found, ...others] = view
      .byClass("toned")
      .map((part) => [part.words, part.attributes.get("class")]);
    const tone = finding === "refuses_unsigned" ? "ok" : "wait";
    expect([found, others]).toEqual([[`It is ${finding}.`, `toned ${tone}`], []]);
    const [asked, ...more] = sent.splice(0);
    expect(asked).toEqual(["POST", "/listeners/probe", { port: 3_000 }]);
    expect(more).toEqual(finding.startsWith("no") ? [] : register);
    expect(newSecret.get()?.isTested).toBe(finding.startsWith("no") ? undefined : true);
    newSecret.set(undefined);
  }
  expect(page.visits).toEqual(["push /dashboard/endpoints?new&url=http%3A%2F%2Fa%2Fb"]);
  await view.close();
  const { EndpointsPage } = await import("../../../simulator/dashboard/app/pages/endpoints.tsx");
  answers["/listeners/probe"] = { finding: "no_path", url: "http://c/d", sentence: "" };
  const form = await open(h(EndpointsPage, { query: new URLSearchParams("new&url=http%3A%2F%2Fa%2Fb") }));
  await form.submit();
  await form.press(":3000");
  await form.submit();
  const registered = sent.flatMap(([, path, body]) =>
    path === "/endpoints" ? [(body as { url: string }).url] : [],
  );
  expect(registered).toEqual(["http://a/b", "http://c/d"]);
  await form.close();
});

test("a list is narrowed by one period at a time, and a view is kept and forgotten by its name", async () => {
  const { Filters } = await import("../../../simulator/dashboard/app/components/feed-filters.tsx");
  const { NO_FILTERS } = await import("../../../simulator/dashboard/app/core/filters.ts");
  const changes: object[] = [];
  live.endpoints = new Map([["ep_1", endpointOf()]]);
  const show = (filters: object, isPaused = false) =>
    h(Filters, {
      searchRef: null,
      isPaused,
      onPause() {},
      filters: { ...NO_FILTERS, ...filters },
      onChange: (next: object) => changes.push(next),
    });
  const view = await open(show({ q: "x", since: at(0), until: at(1) }));
  for (const period of ["gave_up_since 1h", "since 24h", ""]) await view.choose("Time", period);
  const asked = { ...NO_FILTERS, q: "x" };
  await view.choose("Endpoint", "ep_1");
  const own = { ...asked, since: at(0), until: at(1), endpoint: "ep_1" };
  expect(changes).toEqual([{ ...asked, gave_up_since: "1h" }, { ...asked, since: "24h" }, asked, own]);
  const isOwn = async (filters: object) => {
    await view.again(show(filters, true));
    return view.words().includes("a time of your own");
  };
  expect([await isOwn({ since: "1h", until: at(1) }), await isOwn({ since: "1h" })]).toEqual([true, false]);
  expect(view.button("Resume").attributes.get("aria-pressed")).toBe("true");
  await view.again(show({ state: "dead" }));
  expect(view.button("Pause").attributes.get("aria-pressed")).toBe("false");
  const options = () =>
    view
      .all("option")
      .join()
      .replace(/^.*24 hours,/, "");
  await view.choose("Views", " save");
  await view.fill("Name", " ");
  expect(view.button("Save").disabled).toBe(true);
  await view.fill("Name", "Mine");
  await view.submit();
  expect([options(), page.kept.get("views")]).toEqual(["Views,Mine,Forget this view", "Mine\t?state=dead"]);
  await view.again(show({}));
  await view.choose("Views", "Mine");
  expect([options(), page.visits]).toEqual(["Views,Mine", ["push /dashboard?state=dead"]]);
  await view.again(show({ state: "dead" }));
  await view.choose("Views", " forget");
  expect([options(), page.kept.get("views")]).toEqual(["Views,Save this view…", ""]);
  await view.close();
});

test("an open question is answered by itself, and all of them get their defaults at once", async () => {
  const { ReadingsPage } = await import("../../../simulator/dashboard/app/pages/readings.tsx");
  const about = { default: "one", choices: ["one", "two"], section: "", summary: "", reason: "" };
  const reading = (name: string, choice: string) => ({ name, choice, ...about });
  answers["/readings"] = { data: [reading("a", "two"), reading("b", "one"), reading("c", "two")] };
  const view = await open(h(ReadingsPage, {}));
  await view.press("Defaults for all (2 changed)");
  await view.press("one *");
  expect(sent.map(([, , body]) => body)).toEqual([{ a: "one", b: "one", c: "one" }, { a: "one" }]);
  answers["/readings"] = { data: [reading("a", "one")] };
  await view.press("two");
  expect(view.button("Defaults for all").disabled).toBe(true);
});
