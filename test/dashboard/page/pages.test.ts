import { h } from "preact";
import { expect, test } from "vitest";
import { at } from "./deliveries.ts";
import { endpointOf, openForms } from "./forms.ts";

/** Each page with its data, with none, and as its address says. */

const { page, live, answers, sent, called, wait, open } = await openForms();
const { EndpointsPage } = await import("../../../simulator/dashboard/app/pages/endpoints.tsx");
const { ReadingsPage } = await import("../../../simulator/dashboard/app/pages/readings.tsx");
const { TriggerPage } = await import("../../../simulator/dashboard/app/pages/trigger.tsx");
const { VerifyPage } = await import("../../../simulator/dashboard/app/pages/verify.tsx");
const { WorldPage } = await import("../../../simulator/dashboard/app/pages/world.tsx");

test("the world shows each kind of an organization page by page, and plays only recordings of this simulator", async () => {
  Object.assign(location, { port: "4010" });
  live.organizations = [1, 2].map((n) => ({ id: `org_${n}`, name: "", api_key: `k${n}` })) as never;
  const call = (id: string, recording_url: string) => {
    const about = { object: "call", phone: id, transcript: "A", outcome: "completed", duration_sec: 61 };
    return { ...about, id, recording_url, created_at: at(0) };
  };
  const urls = ["localhost:4010", "localhost:1"].map((host, n) => `http://${host}/recordings/c${n + 1}.mp3`);
  const script = "javascript:alert(1)";
  const data = urls.map((url, n) => call(`c${n + 1}`, url));
  answers["/api/v1/calls?limit=50"] = { data, has_more: true };
  answers["/api/v1/calls?limit=50&starting_after=c2"] = { data: [call("c3", script)], has_more: false };
  const show = (query: string) => h(WorldPage, { query: new URLSearchParams(query) });
  // What is open is looked for page by page.
  const searched = await open(show("org=org_2&open=c3"));
  await wait();
  expect(searched.words()).toContain("3 items in all.");
  await searched.close();
  called.length = 0;
  const view = await open(show("org=org_2"));
  for (const words of ["k2", "completed · 1 min 1 s"]) expect(view.words()).toContain(words);
  await view.press("Load the next 50");
  expect(view.words()).toContain("3 items in all.");
  expect(called.map(([, key]) => key)).toEqual(["Bearer k2", "Bearer k2"]);
  await view.byClass("row edge")[0]?.tell("click");
  await view.choose("Organization", "org_1");
  const played: unknown[] = [];
  for (const id of ["c1", "c2", "c3"]) {
    await view.again(show(`org=org_2&open=${id}`));
    const part = view.root.parts.find(({ attributes }) => attributes.has("preload") || attributes.has("rel"));
    const { attributes = new Map<string, string>() } = part ?? {};
    played.push(
      attributes.get("src") ??
        attributes.get("href") ??
        view.words().includes(`Not a web address: ${script}`),
    );
  }
  expect(played).toEqual(["/recordings/c1.mp3", urls[1], true]);
  await view.press("Close");
  expect(page.visits).toEqual([
    "push /dashboard/world/calls?org=org_2&open=c1",
    "push /dashboard/world/calls?org=org_1",
    "replace /dashboard/world/calls?org=org_2",
  ]);
});

test("each page says what there is none of, and shows what its address names", async () => {
  const query = (text = "") => new URLSearchParams(text);
  const words = async (part: Parameters<typeof open>[0]) => {
    const view = await open(part);
    await wait(150);
    const said = view.words();
    await view.close();
    return said;
  };
  expect(await words(h(EndpointsPage, { query: query() }))).toContain("No endpoint is registered");
  expect(await words(h(EndpointsPage, { id: "ep_9", query: query() }))).toContain(
    "This endpoint does not exist",
  );
  answers["/verification"] = { verification: null };
  expect(await words(h(VerifyPage, {}))).toContain("Register an endpoint, then verify it here.");
  live.endpoints = new Map(["ep_1", "ep_2"].map((id) => [id, endpointOf({ id, name: `of ${id}` })]));
  expect(await words(h(VerifyPage, {}))).toMatch(/Endpoint of ep_1of ep_2Verify.*Press Verify to send/);
  expect(await words(h(EndpointsPage, { query: query("edit=ep_2") }))).toContain("Edit the endpoint");
  expect(await words(h(EndpointsPage, { id: "ep_2", query: query("rotate") }))).toContain(
    "Rotate the signing secret",
  );
  const types = ["a.b", "b.c"].map((type) => ({ type, emitted_when: "", schema: {}, example: {} }));
  answers["/event-types"] = { data: types };
  answers["/traffic"] = Response.json({}, { status: 404 });
  const trigger = await words(h(TriggerPage, { query: query("type=b.c") }));
  expect(trigger).toMatch(/trigger b\.c/);
  expect(trigger).not.toMatch(/Traffic|Scenarios/);
  live.organizations = [{ id: "org_1", name: "", api_key: "k1" }] as never;
  const voicemail = {
    object: "voicemail",
    id: "vm_1",
    customer_name: "Ada",
    message_text: "a\nb",
    call_id: "c1",
  };
  answers["/api/v1/voicemails"] = { data: [{ ...voicemail, reviewed: false, created_at: at(0) }] };
  const world = h(WorldPage, { section: "voicemails", query: query("open=vm_1") });
  expect(await words(world)).toMatch(/Ada a · b unread.*Voicemail of Ada.*Its call/);
  expect(await words(h(WorldPage, { query: query() }))).toContain(
    "Trigger an event: the world changes with it.",
  );
});

test("an open question is answered by itself, and all of them get their defaults at once", async () => {
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
