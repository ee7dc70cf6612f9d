import { useEffect } from "preact/hooks";
import type { Delivery } from "./types.ts";
import { CAUSES } from "../../../domain/causes.ts";
import { parseQuery, type QUERY_FIELDS } from "../../../domain/query.ts";

/** The filters of the list, empty if unset; times are ISO 8601, or how long ago. */
export const NO_FILTERS = {
  q: "",
  endpoint: "",
  type: "",
  state: "",
  verdict: "",
  cause: "",
  since: "",
  until: "",
  gave_up_since: "",
};

export type Filters = typeof NO_FILTERS;
export type Filter = keyof Filters;

const AGO = Object.entries({ "15m": "last 15 minutes", "1h": "last hour", "24h": "last 24 hours" });

/** Choices of a time: the filter, its value, and its label. */
export const PERIODS: [filter: "since" | "gave_up_since", ago: string, words: string][] = [
  ...AGO.map(([ago, words]): (typeof PERIODS)[number] => ["since", ago, `created in the ${words}`]),
  ...AGO.map(([ago, words]): (typeof PERIODS)[number] => ["gave_up_since", ago, `gave up in the ${words}`]),
];

/** The fields that a search may contain, with examples: `status:500`. */
const OFFERS: { [Name in keyof typeof QUERY_FIELDS]: readonly string[] } = {
  status: ["500", "401", "404", "503", "timeout", "refused", "reset", "closed"],
  type: [],
  state: ["attempting", "delivered", "dead", "failed", "lost"],
  verdict: ["ok", "not", "unknown", "waiting"],
  cause: Object.keys(CAUSES),
  endpoint: [],
  event: [],
  phone: [],
  after: ["15m", "1h", "24h"],
  before: ["15m", "1h", "24h"],
  gave_up_after: ["15m", "1h", "24h"],
  gave_up_before: ["15m", "1h", "24h"],
};

/** Completions of the typed text: the fields of a search and their values. */
export function offersFor(q: string, eventTypes: readonly string[]): string[] {
  const before = q.replace(/\S*$/, "");
  const typed = q.slice(before.length);
  const [name = "", value] = typed.split(":");
  const offers: Record<string, readonly string[]> = { ...OFFERS, type: eventTypes };
  const words =
    value === undefined
      ? Object.keys(offers).map((field) => `${field}:`)
      : (offers[name] ?? []).map((one) => `${name}:${one}`);
  return words.filter((word) => word.startsWith(typed)).map((word) => before + word);
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

/** The same as the fields of a selection, as the control API takes them. */
export function selectionOf(filters: Partial<Filters>): Record<string, string> {
  const set = Object.entries(filters).filter(([, value]) => value.trim() !== "");
  const fieldOf = (name: string) => (name === "endpoint" ? "endpoint_id" : name);
  return Object.fromEntries(set.map(([name, value]) => [fieldOf(name), value.trim()]));
}

/** And as the end of one of its addresses: `&state=dead`. */
export function apiQuery(filters: Partial<Filters>): string {
  const query = new URLSearchParams(selectionOf(filters)).toString();
  return query === "" ? "" : `&${query}`;
}

export function isFiltered(filters: Filters): boolean {
  return Object.values(filters).some((value) => value.trim() !== "");
}

/** Fields of a delivery that match without the simulator. */
const OWN: [filter: Filter, read: (delivery: Delivery) => string | null][] = [
  ["endpoint", ({ endpoint_id: id }) => id],
  ["type", ({ event_type: type }) => type],
  ["state", ({ state }) => state],
  ["verdict", ({ verdict }) => verdict.result],
  ["cause", ({ verdict }) => verdict.cause],
];

/**
 * Whether a delivery matches the filters: `maybe` if only the simulator can tell, as for its payload or its later outcome.
 */
export function passes(filters: Filters, delivery: Delivery): "yes" | "no" | "maybe" {
  const isWide = filters.state === "lost" || filters.state === "failed";
  const own = OWN.filter(([name]) => filters[name] !== "" && !(isWide && name === "state"));
  if (own.some(([name, read]) => read(delivery) !== filters[name])) return "no";
  const { q, since, until, gave_up_since: gaveUpSince } = filters;
  return isWide || q.trim() + since + until + gaveUpSince !== "" ? "maybe" : "yes";
}

const NAME = "search";

/** Highlights the searched words anywhere on the page, without changing the page: on each render. */
export function useHighlight(q: string): void {
  useEffect(() => {
    // A browser without highlights still filters.
    if (!("highlights" in CSS)) return;
    const { fields, text: words } = parseQuery(q);
    const text = [words, fields.phone ?? ""].join(" ").trim().toLowerCase();
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

/** The position of `text` in `within`; phone numbers match by their digits, in any notation. */
function placesOf(within: string, text: string): [from: number, to: number][] {
  const digits = text.replaceAll(/\D/g, "");
  const isPhone = digits.length >= 7 && /^[\d\s().+/-]+$/.test(text);
  const escaped = (one: string) => one.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const pattern = isPhone ? digits.split("").join(String.raw`[\s().\/-]{0,3}`) : escaped(text);
  const found = [...within.matchAll(new RegExp(pattern, "gi"))];
  return found.map(({ index, 0: { length } }) => [index, index + length]);
}
