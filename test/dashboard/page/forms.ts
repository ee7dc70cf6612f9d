import type { ComponentChild } from "preact";
import { act } from "preact/test-utils";
import { afterAll, afterEach, beforeEach, vi } from "vitest";
import { loopTurns } from "../../helpers/loop-turns.ts";
import type { Clock, Endpoint } from "../../../simulator/dashboard/app/core/types.ts";
import { at } from "./deliveries.ts";
import { openPage, type Part, show } from "./dom.ts";

export const clockOf = (more: Partial<Clock> = {}) =>
  ({
    mode: "manual",
    now: at(0),
    wall_now: at(0),
    next_attempt_at: at(5),
    deliveries: { attempting: 2, delivered: 0, dead: 0 },
    verdicts: { is_observed: true, counts: [] },
    ...more,
  }) as Clock;

export const endpointOf = (more: Partial<Endpoint> = {}) => ({ ...SETTINGS, ...STATE, ...more }) as Endpoint;
const SETTINGS = {
  id: "ep_1",
  name: "",
  url: "http://localhost:1/a",
  org_id: null,
  event_types: [],
  faults: [],
};
const STATE = {
  paused: false,
  flagged: false,
  consecutive_failures: 0,
  created_at: at(0),
  secret_last4: "last",
  previous_secret_until: null,
  previous_secret_last4: null,
};

export const classOf = (part: Part | undefined) => part?.attributes.get("class");

/** Of an attempt that carried none. */
export const NO_SIGNATURE = {
  header: "",
  v1: [],
  problem: "header_missing",
  signed_string_start: null,
  age_at_send_seconds: 0,
};

/**
 * A page whose simulator answers at once: each path with what `answers` has for it, a value or a whole answer, by default
 * with an empty list.
 */
export async function openForms() {
  vi.useFakeTimers({ toFake: ["setInterval", "setTimeout", "clearTimeout", "performance"] });
  const page = openPage();
  const answers: Record<string, unknown> = {};
  /** Each change that was asked for: its method, its path and its body. */
  const sent: [method: string, path: string, body: unknown][] = [];
  /** The REST API's requests, with their keys. */
  const called: [path: string, key: string | null][] = [];
  vi.stubGlobal(
    "fetch",
    async (url: string, { method = "GET", body = "null", headers = new Headers() } = {}) => {
      const { pathname, searchParams } = new URL(url, "http://simulator");
      const answerTo = (path: string) => answers[path] ?? answers[path.split("?")[0] ?? ""] ?? { data: [] };
      if (method !== "GET") sent.push([method, pathname.replace("/control", ""), JSON.parse(body)]);
      const paths = searchParams.getAll("path");
      if (url.startsWith("/api/")) called.push([url, headers.get("authorization")]);
      const data = paths.map((path) => ({ status: 200, body: answerTo(path) }));
      const answer = paths.length > 0 ? { data } : answerTo(url.replace("/control", ""));
      return answer instanceof Response ? answer.clone() : Response.json(answer);
    },
  );
  vi.stubGlobal("matchMedia", () => ({ matches: true, addEventListener() {}, removeEventListener() {} }));
  vi.stubGlobal("CSS", {});
  vi.stubGlobal(
    "ResizeObserver",
    class Observer {
      observe() {}
      disconnect() {}
    },
  );
  (await import("../../../simulator/dashboard/app/core/api.ts")).beginReading();
  const { live } = await import("../../../simulator/dashboard/app/core/live.ts");
  const { listenToKeys } = await import("../../../simulator/dashboard/app/core/actions.ts");
  listenToKeys();
  beforeEach(() => {
    for (const list of [sent, called, page.visits]) list.length = 0;
    for (const path of Object.keys(answers)) delete answers[path];
    Object.assign(live, { clock: clockOf(), endpoints: new Map(), jobs: [], verification: undefined });
  });
  const opened: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });
  afterAll(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.resetModules();
  });
  const wait = (ms = 0) =>
    act(async () => {
      await loopTurns(20);
      vi.advanceTimersByTime(ms);
      await loopTurns(20);
    });

  /** A component as a reader has it until the test ends: finds things by what they are called. */
  async function open(component: ComponentChild) {
    const shown = await show(component);
    opened.push(shown.close);
    await wait();
    const all = () => shown.root.parts;
    const found = (name: string, part: Part | undefined) => {
      if (part === undefined) throw new Error(`There is no ${name} in: ${shown.root.words}`);
      return part;
    };
    const called = (part: Part, name: string) =>
      part.words.trim() === name || part.attributes.get("aria-label") === name;
    const button = (name: string) =>
      found(
        name,
        all().find((part) => /^(?:button|a|input)$/.test(part.localName) && called(part, name)),
      );
    const field = (name: string) => {
      const label = all().find((part) => part.localName === "label" && part.words.trim().startsWith(name));
      const id = label?.attributes.get("for");
      const within = label?.parts.find(({ localName }) => /^(?:input|select)$/.test(localName));
      const named = ({ attributes }: Part) => attributes.get(id ? "id" : "aria-label") === (id ?? name);
      return found(name, within ?? all().find(named));
    };
    return {
      ...shown,
      words: () => shown.root.words,
      button,
      field,
      press: (name: string, more = {}) => button(name).tell("click", more),
      fill: (name: string, value: string) => field(name).tell("input", { currentTarget: { value } }),
      choose: (name: string, value: string) => field(name).tell("change", { currentTarget: { value } }),
      submit: () =>
        found(
          "form",
          all().find(({ localName }) => localName === "form"),
        ).tell("submit"),
      all: (tag: string) => all().flatMap(({ localName, words }) => (localName === tag ? [words] : [])),
      having: (name: string) => all().flatMap((part) => part.attributes.get(name) ?? []),
      byClass: (name: string) => all().filter(({ attributes }) => attributes.get("class")?.includes(name)),
    };
  }
  const read = async (component: ComponentChild) => (await open(component)).words();
  const key = (name: string, more = {}) => page.tell("keydown", { key: name, target: page, ...more });
  return { page, live, answers, sent, called, wait, open, read, key };
}
