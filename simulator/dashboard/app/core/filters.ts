import { useEffect } from "preact/hooks";
import type { Delivery } from "./types.ts";

/** What the list can be narrowed by, each empty where not at all; `since` and `until` are moments, or how long ago. */
export const NO_FILTERS = { q: "", endpoint: "", type: "", state: "", verdict: "", since: "", until: "" };

export type Filters = typeof NO_FILTERS;
export type Filter = keyof Filters;

/** How long ago, to choose from. */
export const PERIODS: [since: string, words: string][] = [
  ["15m", "the last 15 minutes"],
  ["1h", "the last hour"],
  ["24h", "the last 24 hours"],
  ["7d", "the last 7 days"],
];

/** What a search may ask for between its words, with some of what can be asked: `status:500`. */
export const SEARCH_FIELDS: Record<string, readonly string[]> = {
  status: ["500", "401", "404", "503", "timeout", "refused", "reset", "closed"],
  type: [],
  state: ["attempting", "delivered", "dead", "failed", "lost"],
  verdict: ["ok", "not", "unknown", "waiting"],
  endpoint: [],
  phone: [],
  after: ["15m", "1h", "24h"],
  before: ["15m", "1h", "24h"],
};

/** Whether a search asks for such a field. */
export function hasField(q: string): boolean {
  return q
    .split(/\s+/)
    .some((word) => Object.hasOwn(SEARCH_FIELDS, word.split(":")[0] ?? "") && word.includes(":"));
}

/** The filters as the address has them. */
export function readFilters(query: URLSearchParams): Filters {
  const known = [...query].filter(([name]) => Object.hasOwn(NO_FILTERS, name));
  return { ...NO_FILTERS, ...Object.fromEntries(known) };
}

/** The filters as the end of an address: `?state=dead`, or nothing. */
export function filterQuery(filters: Filters): string {
  const set = Object.entries(filters).filter(([, value]) => value !== "");
  return set.length === 0 ? "" : `?${new URLSearchParams(set).toString()}`;
}

/** The same for the control API: `&state=dead`. */
export function apiQuery(filters: Partial<Filters>): string {
  const set = Object.entries(filters).filter(([, value]) => value.trim() !== "");
  const nameOf = (name: string) => (name === "endpoint" ? "endpoint_id" : name);
  return set.map(([name, value]) => `&${nameOf(name)}=${encodeURIComponent(value.trim())}`).join("");
}

export function isFiltered(filters: Filters): boolean {
  return Object.values(filters).some((value) => value.trim() !== "");
}

/** Whether a delivery passes what can be told without its payload; a text search is the simulator's to answer. */
export function passes(filters: Filters, delivery: Delivery): boolean {
  const { endpoint, type, state, verdict, since, until } = filters;
  const at = delivery.created_at;
  return (
    // What the stream tells happens now, which is within any such period.
    (since === "" || /^\d+[smhd]$/.test(since) || at >= since) &&
    (until === "" || at < until) &&
    (endpoint === "" || delivery.endpoint_id === endpoint) &&
    (type === "" || delivery.event_type === type) &&
    passesState(state, delivery) &&
    (verdict === "" || delivery.verdict.result === verdict)
  );
}

/** `lost`: gave up, and nothing later brought it. `failed`: gave up, or was tried in vain and is tried again. */
function passesState(state: string, { state: own, attempts, recovered_by: recoveredBy }: Delivery): boolean {
  if (state === "lost") return own === "dead" && recoveredBy === null;
  if (state === "failed") return own === "dead" || (own === "attempting" && Boolean(attempts[0]?.ended_at));
  return state === "" || own === state;
}

const NAME = "search";

/** Marks what was searched for, wherever it stands in the page, without touching the page: on each render. */
export function useHighlight(q: string): void {
  useEffect(() => {
    // A browser that cannot mark finds all the same.
    if (!("highlights" in CSS)) return;
    const words = q
      .split(/\s+/)
      .map((word) => (hasField(word) && word.split(":")[0] !== "phone" ? "" : word.replace(/^phone:/, "")))
      .filter(Boolean);
    const text = words.join(" ").toLowerCase();
    if (text === "") CSS.highlights.delete(NAME);
    else CSS.highlights.set(NAME, new Highlight(...rangesOf(text)));
  });
}

function rangesOf(text: string): Range[] {
  const main = document.querySelector("main");
  if (main === null) return [];
  const ranges: Range[] = [];
  const nodes = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node !== null; node = nodes.nextNode()) {
    for (const [from, to] of placesOf(node.textContent ?? "", text)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, to);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Where `text` stands in `within`; a phone number by its digits, however it is written. */
function placesOf(within: string, text: string): [from: number, to: number][] {
  const digits = text.replaceAll(/\D/g, "");
  const isPhone = digits.length >= 7 && /^[\d\s().+/-]+$/.test(text);
  const escaped = (one: string) => one.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const pattern = isPhone ? digits.split("").join(String.raw`[\s().\/-]{0,3}`) : escaped(text);
  return [...within.matchAll(new RegExp(pattern, "gi"))].map((match) => [
    match.index,
    match.index + match[0].length,
  ]);
}
