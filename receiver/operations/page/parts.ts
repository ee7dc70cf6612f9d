import { markup, STYLE_ELEMENT, type Markup } from "./markup.ts";

/** Where the page is mounted, such as `/operator` (empty on the admin port), and the time. */
export type Place = { base: string; nowMs: number };

type Fields = Readonly<Record<string, string | undefined>>;

/** A whole page as text. One that shows what changes loads itself again. */
export function layout(
  { base }: Place,
  title: string,
  main: Markup,
  refreshSeconds: number | undefined,
): string {
  const refresh =
    refreshSeconds !== undefined && markup`<meta http-equiv="refresh" content="${refreshSeconds}" />`;
  const page = markup`<html lang="en"><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />${refresh}<title>${title} · receiver</title>${STYLE_ELEMENT}</head>
<body><header><strong>Receiver</strong><nav aria-label="Pages"><a href="${base}/">Overview</a><a href="${base}/events">Events</a>
<a href="${base}/events?state=dead">Dead</a></nav><form action="${base}/events" role="search">
<input name="id" aria-label="Id of an event" placeholder="evt_…" required /><button>Find</button></form></header>
<main><h1>${title}</h1>${main}</main></body></html>`;
  return `<!doctype html>\n${page.markup}\n`;
}

/** A table; a heading that begins with `#` is of numbers. */
export function table(headings: readonly string[], rows: readonly Markup[]): Markup {
  const head = headings.map((heading) =>
    heading.startsWith("#")
      ? markup`<th class="number">${heading.slice(1)}</th>`
      : markup`<th>${heading}</th>`,
  );
  return markup`<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

export function link(path: string, fields: Fields): string {
  const pairs = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const query = new URLSearchParams(pairs).toString();
  return query === "" ? path : `${path}?${query}`;
}

/** Links to the questions that come before a requeue and a discard, of what is in this state. */
export function actions(base: string, selection: Fields, state?: string): Markup {
  const to = (action: string, words: string): Markup =>
    markup`<a class="button" href="${link(`${base}/confirm`, { action, ...selection })}">${words}</a> `;
  return markup`${state !== "waiting" && to("requeue", "Requeue…")}${state !== "ignored" && to("discard", "Discard…")}`;
}

/** A point in time as UTC to the second, and how long ago it was. */
export function moment(atMs: number | null | undefined, nowMs: number): Markup {
  if (atMs === null || atMs === undefined) return markup``;
  const seconds = Math.round(Math.abs(atMs - nowMs) / 1_000);
  const [size, unit] = SIZES.find(([size]) => seconds >= size) ?? [1, "s"];
  const distance = `${String(Math.floor(seconds / size))} ${unit}`;
  const iso = new Date(atMs).toISOString();
  return markup`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")}</time> <span class="quiet">${atMs > nowMs ? `in ${distance}` : `${distance} ago`}</span>`;
}

const SIZES = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
] as const;

export function grouped(count: number): string {
  return count.toLocaleString("en");
}
