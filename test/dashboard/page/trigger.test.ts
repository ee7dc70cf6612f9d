import { h } from "preact";
import { expect, test } from "vitest";
import type { EventTypeForm } from "../../../simulator/dashboard/app/core/types.ts";
import { at } from "./deliveries.ts";
import { endpointOf, openForms } from "./forms.ts";

/** What triggers events: forms, faults, stories and traffic. */

const { live, answers, sent, open } = await openForms();
const { EventForm, fieldsOf, overridesOf } =
  await import("../../../simulator/dashboard/app/components/event-form.tsx");
const { FaultPicker } = await import("../../../simulator/dashboard/app/components/field.tsx");
const { toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
const { ScenarioList, TrafficSwitch } = await import("../../../simulator/dashboard/app/pages/trigger.tsx");

test("what a trigger brought is said, with the way to it, and a form repeats all that it sends as a command", async () => {
  answers["/faults"] = { data: ["delay", "drop-answer"].map((name) => ({ name, at: "wire", title: "" })) };
  live.organizations = [{ id: "org_1", name: "Trattoria" }] as typeof live.organizations;
  const schema = { properties: { id: {} } };
  const example = { id: "http://localhost:4010/1", total: 5 };
  const type = { type: "order.created", schema, example } as never;
  const view = await open(h(EventForm, { type }));
  expect(view.words()).toContain("No endpoint will receive it.");
  expect(view.field("id").attributes.get("placeholder")).toBe("http://simulator/1");
  expect(view.field("How many").attributes.get("max")).toBe("10000");
  expect(view.field("Overrides (JSON)").attributes.get("placeholder")).toBe('{\n  "total": 5\n}');
  await view.choose("Organization", "org_1");
  for (const box of view.byClass("fault"))
    await box.parts.find(({ localName }) => localName === "input")?.tell("change");
  const command =
    "trigger order.created --org org_1 --fault delay --fault drop-answer --simulator http://sim";
  expect(view.words()).toContain(command);
  const [event, delivery] = [{ id: "evt_1", type: "order.created" }, { id: "dlv_1" }];
  for (const [events, deliveries, text, href] of [
    [1, 1, "order.created: 1 delivery on the way.", "/deliveries/dlv_1"],
    [2, 2, "2 events: 2 deliveries on the way.", ""],
    [1, 0, "order.created was emitted, but no endpoint has selected it.", "/endpoints"],
  ] as const) {
    const some = { events: Array(events).fill(event), deliveries: Array(deliveries).fill(delivery) };
    answers["/events"] = some;
    await view.submit();
    expect(toasts.get().at(-1)).toMatchObject({ text, link: { href: `/dashboard${href}` } });
    expect(view.button("Trigger").disabled).toBe(false);
  }
  const faults = ["delay", "drop-answer"];
  expect(sent[0]?.[2]).toEqual({ type: "order.created", count: 1, org_id: "org_1", faults });
  live.endpoints = new Map([["ep_1", endpointOf()]]);
  await view.again(h(EventForm, { type }));
  expect(view.words()).not.toContain("No endpoint will");
});

test("the form of an event sends its fields, overridden by the JSON, and shows the same as a command", async () => {
  const properties = {
    object: { type: "string" },
    notes: { type: "string" },
    reviewed: { type: "boolean" },
    duration_seconds: { type: "integer" },
    transfer_to: {},
  };
  const example = {
    object: "call",
    notes: "n",
    reviewed: true,
    duration_seconds: 1,
    transfer_to: "+1",
    more: 2,
  };
  const schema = { properties };
  const type = { type: "call.completed", emitted_when: "", schema, example } as unknown as EventTypeForm;
  const fields = fieldsOf(type);
  expect(fields.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    "notes long",
    "reviewed boolean",
    "duration_seconds integer",
    "transfer_to json",
  ]);
  const values = { notes: "1", reviewed: "false", duration_seconds: "30", transfer_to: '{"name":"Ada"}' };
  const object = { notes: "1", reviewed: false, duration_seconds: 30, transfer_to: { name: "Ada" } };
  expect(overridesOf(fields, values, "")).toEqual({ ok: true, object });
  expect(overridesOf(fields, { transfer_to: "Ada" }, '{"transfer_to":"Bo"}')).toEqual({
    ok: true,
    object: { transfer_to: "Bo" },
  });
  for (const wrong of ["[]", "1", "null", "{"]) expect(overridesOf(fields, {}, wrong).ok, wrong).toBe(false);

  const { words, fill, submit } = await open(h(EventForm, { type }));
  await fill("notes", "ring twice");
  expect(words()).not.toContain("--count");
  await fill("How many", "3");
  answers["/events"] = Response.json({ error: "full", message: "Too many wait." }, { status: 503 });
  await submit();
  const event = { type: "call.completed", count: 3, object: { notes: "ring twice" }, faults: [] };
  expect(sent).toEqual([["POST", "/events", event]]);
  expect(words()).toContain("Too many wait.");
  answers["/events"] = { events: [], deliveries: [] };
  await submit();
  expect(words()).not.toContain("Too many wait.");
  expect(words()).toContain("trigger call.completed --set 'notes=ring twice' --count 3");
});

test("faults are for every attempt until a number is chosen, and each has its own", async () => {
  answers["/faults"] = { data: ["delay", "drop-answer"].map((name) => ({ name, at: "wire", title: "" })) };
  const changes: string[][] = [];
  const picker = (chosen: string[]) => h(FaultPicker, { chosen, onChange: (next) => changes.push(next) });
  const { root, choose, again } = await open(picker(["delay:2"]));
  const box = (at: number) =>
    root.parts.filter(({ attributes }) => attributes.get("type") === "checkbox")[at]?.tell("change");
  await box(1);
  await box(0);
  await choose("Attempts with delay", "");
  await again(picker(["delay", "drop-answer"]));
  await choose("Attempts with drop-answer", "5");
  expect(changes).toEqual([["delay:2", "drop-answer"], [], ["delay"], ["delay", "drop-answer:5"]]);
});

test("traffic is set to a rate, or shown at its own, and a story is run by its name", async () => {
  answers["/traffic"] = { per_minute: 45 };
  const view = await open(h(TrafficSwitch, {}));
  expect(view.words()).toMatch(/Off63012060045$/);
  answers["/traffic"] = { per_minute: 0 };
  await view.press("Off");
  expect(view.words()).toMatch(/600$/);
  answers["/scenarios"] = { data: [{ name: "a b", summary: "", events: 2 }] };
  answers["/scenarios/a%20b"] = { ends_at: at(9) };
  await (await open(h(ScenarioList, {}))).press("Run a b");
  expect(sent).toEqual([
    ["PATCH", "/traffic", { per_minute: 0 }],
    ["POST", "/scenarios/a%20b", {}],
  ]);
});
