import { h } from "preact";
import { expect, test, vi } from "vitest";
import { EVENT_TYPES } from "../../../shared/events.ts";
import type { Attempt, AttemptDetail, Delivery } from "../../../simulator/dashboard/app/core/types.ts";
import { fullTimeOf } from "../../../simulator/dashboard/app/core/words.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { classOf, NO_SIGNATURE, openForms } from "./forms.ts";

/** An attempt: its outcome, its bodies and its signature. */

const { wait, open, read } = await openForms();
const { AttemptView } = await import("../../../simulator/dashboard/app/components/attempt-view.tsx");
const { CopyButton, Icon } = await import("../../../simulator/dashboard/app/components/button.tsx");
const chips = await import("../../../simulator/dashboard/app/components/chips.tsx");
const { BodyView } = await import("../../../simulator/dashboard/app/components/code-view.tsx");
const { SignatureView } = await import("../../../simulator/dashboard/app/components/signature-view.tsx");
const { toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
const copied: string[] = [];
let isRefused = false;
const writeText = async (text: string) => (isRefused ? Promise.reject(new Error("no")) : copied.push(text));
vi.stubGlobal("navigator", { clipboard: { writeText } });

test("an attempt shows what was sent when, and all that came back", async () => {
  const base = { ...attemptAt(1, 500), wall_started_at: at(9), signature: NO_SIGNATURE };
  const request = { body: '{"a":1}', headers: {}, line: "POST /a HTTP/1.1" };
  const show = (more: object) => open(h(AttemptView, { attempt: { ...base, request, ...more } as never }));
  const answer = { body: "why", headers: { "set-cookie": ["1", "2"], a: "x" }, truncated: true };
  const { words, all, field } = await show({ answer });
  expect(words()).toContain(`Due ${fullTimeOf(at(1))} · sent ${fullTimeOf(at(9))} real time · took 1 ms`);
  expect([field("Request body").words, field("Answer body").words]).toEqual(['{\n  "a": 1\n}', "why"]);
  expect([all("tr"), words().includes("the first 16 KiB")]).toEqual([
    ["set-cookie1", "set-cookie2", "ax"],
    true,
  ]);
  expect((await show({ answer: { ...answer, truncated: false } })).words()).toContain("3 bytes");
  expect((await show({ answer: null, ended_at: null })).words()).toContain("None yet.");
  expect((await show({ answer: null })).words()).toContain("There was none.");
});

test("an attempt says what happened and what to do, and a failure on purpose is not the receiver's", async () => {
  const base = { ...attemptAt(1, 500), blame: "receiver", request: { body: "", headers: {} }, answer: null };
  const failed = "The receiver failed with a server error. Read the receiver's log";
  for (const [words, more] of [
    [failed, {}],
    [failed, { fault: "drop-answer" }],
    ["Failed on purpose (drop-answer)", { fault: "drop-answer", blame: "simulator" }],
    ["Acknowledged: a 2xx", { http_status: 204, blame: null }],
    ["No answer came in time. Store the event", { http_status: null, error: "timeout" }],
    ["Under way: the receiver has 10 seconds", { ended_at: null }],
  ] as const) {
    const attempt = { ...base, signature: NO_SIGNATURE, ...more } as unknown as AttemptDetail;
    expect(await read(h(AttemptView, { attempt }))).toContain(words);
  }
});

test("a body is shown in lines or as it came, and a signature by its age on either side", async () => {
  const body = await open(h(BodyView, { text: '{"é":1}', label: "Body" }));
  const code = () => body.byClass("code")[0]?.words;
  expect([code(), body.words().includes("8 bytes")]).toEqual(['{\n  "é": 1\n}', true]);
  await body.press("Raw");
  expect(code()).toBe('{"é":1}');
  for (const [age, words] of [
    [300, "When sent, t was 5 min old. Up to 300 s"],
    [301, "When sent, t was 5 min 1 s old. A receiver refuses more than 300 s"],
    [-300, "When sent, t was 5 min in the future. Up to 300 s"],
    [-301, "When sent, t was 5 min 1 s in the future. A receiver refuses more than 300 s"],
    [0, "It was signed in the second it was sent. Up to 300 s"],
  ] as const) {
    const own = { header: "t=1", t: "1", v1: ["x"], problem: null, matches: true, age_at_send_seconds: age };
    const attempt = { signature: { ...NO_SIGNATURE, ...own, tolerance_seconds: 300 } } as never;
    expect(await read(h(SignatureView, { attempt }))).toContain(words);
  }
  const made = { ...NO_SIGNATURE, header: "t=1", t: "86400", v1: ["x"], problem: null, verdict: "accepted" };
  for (const [more, tones, words] of [
    [{ matches: true }, "good,good,good,good", "t is 86400 (Fri, 2 Jan 1970, 05:30:00); there is one v1"],
    [{ matches: false, verdict: "no_match" }, "good,good,wrong,good", "The digest under the secret differs"],
    [{ matches: null, verdict: null }, "good,good,unknown,good", "the endpoint and its secret were deleted"],
    [
      { problem: "header_missing", matches: null },
      "wrong,wrong,unknown,good",
      "It is invalid: header missing.",
    ],
  ] as const) {
    const attempt = {
      signature: { ...made, age_at_send_seconds: 0, tolerance_seconds: 300, ...more },
    } as never;
    const view = await open(h(SignatureView, { attempt }));
    const steps = view
      .byClass("verdict-mark")
      .map(({ attributes }) => attributes.get("class")?.split(" ")[2]);
    expect([steps.join(), view.words()]).toEqual([tones, expect.stringContaining(words)]);
  }
});

test("a text is copied as it came, and the button says so for a moment, or that the browser refused", async () => {
  const button = await open(h(CopyButton, { text: "a", label: "Copy it" }));
  await button.press("Copy it");
  expect(button.words()).toBe("Copied");
  await wait(1_500);
  isRefused = true;
  await button.press("Copy it");
  expect([button.words(), toasts.get().map(({ kind }) => kind)]).toEqual(["Copy it", ["bad"]]);
  isRefused = false;
  const text = '{"k":"\u202ev","n":-1.5e3,"t":true}';
  const body = await open(h(BodyView, { text, label: "Body" }));
  const tones = body.root.parts.filter(({ parentNode: above }) => above?.localName === "pre");
  const toned = tones.flatMap((part) =>
    classOf(part) === undefined ? [] : [`${part.words} ${classOf(part)}`],
  );
  expect(toned.join()).toBe('"k" ,"‹U+202E›v" ok,"n" ,-1500 wait,"t" ,true wait');
  await body.press("Copy Body");
  expect(copied).toEqual(["a", text]);
});

test("each outcome, verdict and event type has its own mark", async () => {
  const drawn = async (part: Parameters<typeof open>[0]) => (await open(part)).having("d").join();
  const tones = {
    bad: {},
    ok: { http_status: 204 },
    purpose: { blame: "simulator" },
    wait: { ended_at: null },
  };
  for (const [tone, more] of Object.entries(tones)) {
    const attempt = { ...attemptAt(1, 500), ...more } as Attempt;
    expect((await open(h(chips.OutcomeChip, { attempt }))).having("class")).toEqual([`chip inline ${tone}`]);
  }
  const icons = { ok: "check", not: "cross", unknown: "question", waiting: "clock" } as const;
  for (const [result, name] of Object.entries(icons)) {
    const verdict = { ...deliveryAt(1, "a").verdict, result } as Delivery["verdict"];
    const mark = h(chips.VerdictMark, { delivery: deliveryAt(1, "a", { verdict }) });
    expect(await drawn(mark)).toBe(await drawn(h(Icon, { name })));
    expect((await open(mark)).having("title")).toEqual([verdict.sentence]);
  }
  const types = [...EVENT_TYPES, "other.type"];
  const marks = await Promise.all(types.map(async (type) => drawn(h(chips.TypeMark, { type }))));
  expect(new Set(marks).size).toBe(EVENT_TYPES.length + 1);
});
