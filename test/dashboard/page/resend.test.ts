import { h } from "preact";
import { expect, test } from "vitest";
import type { Job } from "../../../simulator/dashboard/app/core/types.ts";
import { timeOf } from "../../../simulator/dashboard/app/core/words.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { openForms } from "./forms.ts";

/** What is chosen, and sent again as a job. */

const { live, answers, sent, wait, open } = await openForms();
const { PickedBar } = await import("../../../simulator/dashboard/app/components/feed-picked.tsx");
const { Resend } = await import("../../../simulator/dashboard/app/components/resend.tsx");
const { NO_FILTERS } = await import("../../../simulator/dashboard/app/core/filters.ts");
const { NOTHING_PICKED, picked } = await import("../../../simulator/dashboard/app/core/picked.ts");

test("a resend sends what was chosen, or what matches, and everything only under its own name", async () => {
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

test("past jobs say what they sent, and lead to the list of their selection", async () => {
  const figures = { sent: 5, acknowledged: 3, failed: 0, created_at: at(0), state: "done" };
  const done = {
    id: "1",
    ...figures,
    selection: { endpoint_id: "ep_1", gave_up_since: "1h", dry_run: false },
  };
  const ended = { id: "2", ...figures, selection: { ids: ["a", "b"] }, failed: 2, state: "canceled" };
  answers["/jobs"] = { data: [done, ended] };
  const counts = ["a.b", "b.c"].map((event_type, n) => ({ event_type, count: n + 1, endpoint_id: "ep_9" }));
  answers["/deliveries/resend"] = { total: 3, counts };
  const view = await open(h(Resend, { filters: NO_FILTERS, onClose() {} }));
  expect(view.all("tr").filter((row) => /^(?:a\.b|b\.c|\d)/.test(row))).toEqual([
    "b.cendpoint deleted2",
    "a.bendpoint deleted1",
    `${timeOf(at(0))}gave up since: 1h, endpoint: ep_15 sent, 3 acknowledged `,
    `${timeOf(at(0))}2 chosen deliveries5 sent, 3 acknowledged, 2 failed Canceled`,
  ]);
  expect(view.having("href")).toEqual(["/dashboard?endpoint=ep_1&gave_up_since=1h"]);
  answers["/deliveries/resend"] = Response.json({ message: "One runs already." }, { status: 409 });
  await view.press("Send 3 again");
  expect(view.words()).toContain("One runs already.");
  await view.close();
  answers["/deliveries/resend"] = { total: 0, counts: [] };
  const nothing = await open(h(Resend, { filters: NO_FILTERS, onClose() {} }));
  expect(nothing.words()).toContain("Nothing to send:");
  expect(nothing.button("Send again").disabled).toBe(true);
});

test("the bar above the list counts, clears what is chosen, and leads to the attempt that ended last", async () => {
  const attempts = [attemptAt(99, 500), { ...attemptAt(99, 0), number: 2, ended_at: null }];
  live.feed.put(deliveryAt(1, "late", { attempts: [attemptAt(99, 500)] }));
  live.feed.put(deliveryAt(1, "late", { attempts }));
  const show = async (total: number | undefined, ids: string[], more: object = {}) => {
    picked.set({ ...NOTHING_PICKED, ids });
    const filters = { ...NO_FILTERS, ...more };
    return open(h(PickedBar, { filters, total, listed: ["a", "b"], query: "?q=x", onResend() {} }));
  };
  const none = await show(2, []);
  expect(none.words()).toMatch(
    /^2 deliveries in allLatest 500 Server Error attempt 1 · lateSend all again…$/,
  );
  expect(none.having("href")).toEqual(["/dashboard/deliveries/late?q=x"]);
  expect((await show(1, [], { type: "a.b" })).words()).toMatch(/^1 delivery matchesLatest/);
  expect((await show(0, [])).button("Send all again…").disabled).toBe(true);
  expect((await show(undefined, [])).words()).toMatch(/^Latest/);
  const chosen = { "3a": "1 chosen", "2ab": "2 chosen", "3ab": "2 chosenChoose all 3 that there are" };
  for (const [[total, ...ids], words] of Object.entries(chosen).map(
    ([of, words]) => [of.split(""), words] as const,
  ))
    expect((await show(Number(total), ids)).words()).toBe(`${words}ClearSend again…`);
  const job = { id: "job_1", total: 9, sent: 4, ended_at: null };
  live.jobs = [{ ...job, sent: 9, ended_at: at(1) }, job] as Job[];
  const busy = await show(3, ["a"]);
  expect(busy.words()).toContain("4 of 9 sentCancel");
  await busy.press("Clear");
  expect(picked.get()).toEqual(NOTHING_PICKED);
});
