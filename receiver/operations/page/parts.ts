import { EVENT_STATES, type EventFilter } from "../../store/ledger-port.ts";
import { markup, STYLE_ELEMENT, type Markup } from "./markup.ts";

/** Where the page is mounted, such as `/operator`; empty on the admin port. */
export type Base = string;

export type Fields = Readonly<Record<string, string | number | undefined>>;

/** A whole page as text. One that shows what changes loads itself again after `refreshSeconds`. */
export function layout(page: {
  base: Base;
  title: string;
  main: Markup;
  refreshSeconds?: number | undefined;
}): string {
  const { base, title, main, refreshSeconds } = page;
  return `<!doctype html>\n${
    markup`<html lang="en"><head><meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />
${refreshSeconds !== undefined && markup`<meta http-equiv="refresh" content="${refreshSeconds}" />`}
<title>${title} · receiver</title>${STYLE_ELEMENT}</head><body>
<header><strong>Receiver</strong><nav aria-label="Pages"><a href="${base}/">Overview</a><a href="${base}/events">Events</a><a href="${base}/events?state=dead">Dead</a></nav>
<form action="${base}/events" role="search"><input name="id" aria-label="Find an event by its id" placeholder="evt_…" required /><button>Find</button></form></header>
<main><h1>${title}</h1>${main}</main></body></html>`.markup
  }\n`;
}

/** A table; a heading that begins with `#` is of numbers, an empty one of controls. */
export function table(headings: readonly string[], rows: readonly Markup[]): Markup {
  const head = headings.map((heading) =>
    heading.startsWith("#")
      ? markup`<th class="number">${heading.slice(1)}</th>`
      : markup`<th>${heading}</th>`,
  );
  return markup`<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** A path of the page with a query of the fields that have a value. */
export function link(path: string, fields: Fields): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) given.append(name, String(value));
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}

/** Links to the questions that come before a requeue and a discard of a selection. */
export function actions(base: Base, selection: Fields, words: string): Markup {
  return markup`<a class="button" href="${link(`${base}/confirm`, { action: "requeue", ...selection })}">Requeue${words}…</a>
<a class="button" href="${link(`${base}/confirm`, { action: "discard", ...selection })}">Discard${words}…</a>`;
}

export function hidden(fields: Readonly<Record<string, string | readonly string[] | undefined>>): Markup[] {
  return Object.entries(fields).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => markup`<input type="hidden" name="${name}" value="${value}" />`),
  );
}

/** The fields by which a list is chosen. */
export function filterForm(base: Base, filter: EventFilter, handlers: readonly string[]): Markup {
  const select = (label: string, name: "state" | "handler", values: readonly string[]): Markup => {
    const options = values.map(
      (value) => markup`<option${value === filter[name] && markup` selected`}>${value}</option>`,
    );
    return markup`<label><span>${label}</span><select name="${name}"><option value="">any</option>${options}</select></label>`;
  };
  return markup`<form action="${base}/events">${select("State", "state", EVENT_STATES)}${select("Handler", "handler", handlers)}
<label><span>Type</span><input name="type" value="${filter.type}" /></label>
${filter.cause !== undefined && markup`<label><span>Cause</span><input name="cause" size="40" value="${filter.cause}" /></label>`}<button>Show</button></form>`;
}

/** A point in time as UTC to the second, and how long ago it was. */
export function moment(atMs: number, nowMs: number): Markup {
  const iso = new Date(atMs).toISOString();
  return markup`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")}</time> <span class="quiet">(${distance(atMs - nowMs)})</span>`;
}

/** `3 min ago`, `in 2 h`. */
function distance(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  const [size, unit] =
    seconds >= 86_400
      ? [86_400, "d"]
      : seconds >= 3_600
        ? [3_600, "h"]
        : seconds >= 60
          ? [60, "min"]
          : [1, "s"];
  const text = `${String(Math.floor(seconds / size))} ${unit}`;
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

export function grouped(count: number): string {
  return count.toLocaleString("en");
}
