import { h } from "preact";
import { expect, test } from "vitest";
import type { Part } from "./dom.ts";
import { clockOf, endpointOf, openForms } from "./forms.ts";

/** Questions and dialogs: when one is asked, and how it is answered. */

const { live, sent, wait, open } = await openForms();
const { ClockBar } = await import("../../../simulator/dashboard/app/components/clock-bar.tsx");
const { AskedQuestion, Dialog, FormDialog, isMeant } =
  await import("../../../simulator/dashboard/app/components/dialog.tsx");
const { EndpointCard } = await import("../../../simulator/dashboard/app/components/endpoint-card.tsx");
const { StartAfresh } = await import("../../../simulator/dashboard/app/pages/trigger.tsx");

test("a question is answered by its button and by nothing else, and gives the focus back", async () => {
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

test("a dialog that only its content may close opens again, and a form keeps its error in view", async () => {
  const dialogOf = ({ root }: { root: Part }) => root.parts.find(({ localName }) => localName === "dialog");
  const shut = await open(h(Dialog, { title: "", children: [] }));
  const modal = { shown: 0 };
  Object.assign(dialogOf(shut) ?? {}, { showModal: () => (modal.shown += 1) });
  await dialogOf(shut)?.tell("close");
  const closed: number[] = [];
  const free = await open(h(Dialog, { title: "", children: [], onClose: () => closed.push(1) }));
  for (const type of ["cancel", "close"]) await dialogOf(free)?.tell(type);
  expect([modal.shown, closed.length]).toEqual([1, 2]);
  const onSubmit = () => Promise.reject(new Error("It is taken."));
  const form = await open(h(FormDialog, { title: "", action: "Save", onSubmit, onClose() {}, children: [] }));
  await form.submit();
  expect(form.words()).toContain("It is taken.");
});
