import { h } from "preact";
import { expect, test } from "vitest";
import type { Due } from "../../../simulator/dashboard/app/core/types.ts";
import { at } from "./deliveries.ts";
import { classOf, clockOf, openForms } from "./forms.ts";

/** Schedule time on the page: its line, its buttons, and what it says. */

const { live, answers, sent, wait, open, key } = await openForms();
const { ClockBar } = await import("../../../simulator/dashboard/app/components/clock-bar.tsx");
const { AskedQuestion } = await import("../../../simulator/dashboard/app/components/dialog.tsx");
const { TimeStrip } = await import("../../../simulator/dashboard/app/components/time-strip.tsx");
const { placeOnLine } = await import("../../../simulator/dashboard/app/core/ahead.ts");

test("time is moved on the line by keys and by dragging, to a mark that is near, and asks where anything waits", async () => {
  const due = { kind: "attempt", due_at: at(5), count: 1, delivery_id: "a" } as Due;
  answers["/clock/ahead"] = { data: [due] };
  answers["/clock/advance"] = clockOf({ now: at(1) });
  const [asked, view] = [await open(h(AskedQuestion, {})), await open(h(TimeStrip, {}))];
  const slider = view.field("Move schedule time ahead");
  const box = { left: 0, width: 1_000 };
  const captured = {
    setPointerCapture() {},
    hasPointerCapture: () => true,
    getBoundingClientRect: () => box,
  };
  const press = async (name: string, minutes: number, button = 0) => {
    const clientX = placeOnLine(minutes * 60_000) * box.width;
    await slider.tell(`pointer${name}`, { button, clientX, currentTarget: captured });
    return slider.attributes.get("aria-valuetext");
  };
  const steer = async (keys: string) => {
    for (const name of keys.split(" ")) await slider.tell("keydown", { key: name });
    return slider.attributes.get("aria-valuetext");
  };
  for (const [keys, goal] of [
    ["ArrowRight", "in 1:00"],
    ["ArrowRight ArrowUp", "in 30:00: 1 attempt"],
    ["ArrowLeft", "in 5:00: 1 attempt"],
    ["ArrowDown ArrowDown", "now"],
    ["End", "in 12:00:00: 1 attempt"],
    ["Escape", "now"],
    ["ArrowRight Home", "now"],
    ["Enter", "now"],
  ] as const)
    expect([keys, await steer(keys)]).toEqual([keys, goal]);
  await steer("End");
  const right = `${(1 - placeOnLine(43_200_000)) * 100}%`;
  expect(view.byClass("strip-tip")[0]?.style).toEqual({ right });
  await steer("Escape");
  expect([await press("down", 2, 2), await press("down", 2)]).toEqual(["now", "in 2:00"]);
  expect([await press("move", 4.9), live.reachMs]).toEqual(["in 5:00: 1 attempt", Date.parse(at(5))]);
  await press("up", 4.9);
  expect(asked.words()).toContain("On the way: 1 attempt.");
  await asked.press("Keep waiting");
  expect([sent, await press("none", 0), live.reachMs]).toEqual([[], "now", undefined]);
  for (const name of ["down", "up"]) await press(name, 5);
  await asked.press("Move");
  await steer("ArrowRight Enter");
  expect(sent.map(([, , body]) => body)).toEqual([{ seconds: 300 }, { seconds: 60 }]);
  const step = { kind: "step", due_at: at(9), count: 1, event_type: "order.created" };
  answers["/clock/ahead"] = { data: [{ ...due, count: 2 }, step] };
  live.clockChanges += 1;
  await view.again(h(TimeStrip, {}));
  for (const ms of [249, 1]) await wait(ms);
  expect(view.byClass("strip-sum")[0]?.words).toBe("2 attempts and 1 scenario step");
  expect(view.all("title")).toEqual(["2 attempts, in 4:00", "1 scenario step, in 8:00: order.created"]);
  expect(view.byClass("mark-step order-created")[0]?.attributes.get("cx")).toBe(
    `${placeOnLine(480_000) * 100}%`,
  );
  // Another step was quicker: what is past is no goal.
  expect(await steer("ArrowRight")).toMatch(/^in/);
  live.clock = clockOf({ now: at(20) });
  await view.again(h(TimeStrip, {}));
  expect([await press("none", 0), live.reachMs]).toEqual(["now", undefined]);
});

test("the clock offers only what can be done, and says where it is not the time of the wall", async () => {
  const bar = async (more: object) => {
    live.clock = clockOf(more);
    const { words, root } = await open(h(ClockBar, {}));
    const steps = root.parts.filter((part) => classOf(part)?.startsWith("button")).slice(0, 4);
    const can = steps.filter(({ disabled }) => !disabled).map((part) => part.words.trim());
    return [
      can.join(),
      steps.find((part) => part.attributes.get("tabindex") === "0")?.words,
      words(),
    ] as const;
  };
  const [can, first, words] = await bar({});
  expect([can, first]).toEqual(["Next,+1 min,+1 h,To the end", "Next"]);
  expect(words).toMatch(/^Schedule, real [\d:]{8}21 Nov 13:30:00/);
  const now = new Date(Date.now() - 1_000).toISOString();
  const [rest, second, none] = await bar({ next_attempt_at: null, now });
  expect([rest, second, none.includes("none due")]).toEqual(["+1 min,+1 h", "+1 min", true]);
  expect(none).toMatch(/^Schedule time[\d:]{8}Real/);
  answers["/clock/advance"] = clockOf();
  for (const name of ["n", "E"]) await key(name);
  expect(sent.map(([, , body]) => body)).toEqual([{ until: "next" }, { until: "idle" }]);
});
