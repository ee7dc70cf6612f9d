import { hash } from "node:crypto";
import { printable } from "../../../shared/text.ts";

/** Markup that is safe to send: its values have been escaped. */
export type Markup = { readonly markup: string };

type Value = Markup | string | number | null | undefined | false | readonly Markup[];

/** Builds markup. Values are escaped, except those made by `markup` itself. */
export function markup(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return { markup: String.raw({ raw: parts }, ...values.map(textOf)) };
}

function textOf(value: Value): string {
  if (value === null || value === undefined || value === false) return "";
  if (typeof value === "number") return value.toLocaleString("en");
  if (typeof value === "string") return escaped(value);
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}

/** Invisible characters, and those that change the direction of text, are shown as escapes. */
function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);
}

const STYLE = `
:root { color-scheme: light dark; --line: #8885; --back: light-dark(#fff, #16161a); --text: light-dark(#1c1c21, #ececf1); --quiet: light-dark(#63636b, #a5a5ad); --good: light-dark(#1a7f37, #4ac26b); --bad: light-dark(#c21e2b, #ff8078); --wait: light-dark(#8a5a00, #d9a520); --accent: light-dark(#0860ca, #6cb6ff); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 1rem; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
header, form, nav { display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: end; } header { align-items: center; border-bottom: 1px solid var(--line); } header form { margin-left: auto; } form { margin: .6rem 0; } form p { flex-basis: 100%; margin: 0; } td form { margin: 0; }
h1 { font-size: 1.35rem; margin: 1.1rem 0 .5rem; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; } a { color: var(--accent); } .quiet, label { color: var(--quiet); } label { max-width: 100%; } .done { color: var(--good); } .dead, .failed { color: var(--bad); } .waiting, .running { color: var(--wait); }
.note, pre { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .75rem; overflow-wrap: anywhere; } .alert { border-color: var(--bad); border-left-width: 5px; color: var(--bad); } code, pre { font: .85rem/1.4 ui-monospace, monospace; } pre { white-space: pre-wrap; }
.scroll { overflow-x: auto; width: 100%; } table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: baseline; padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--quiet); font-size: .85rem; } td.wide { white-space: normal; overflow-wrap: anywhere; width: 100%; min-width: 12rem; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
button, input, .button { font: inherit; min-height: 2.3rem; padding: .25rem .8rem; border-radius: .4rem; border: 1px solid var(--line); background: var(--back); color: var(--text); max-width: 100%; } button, .button { cursor: pointer; text-decoration: none; display: inline-block; line-height: 1.7rem; }
input[type=checkbox] { width: 1.5rem; height: 1.5rem; min-height: 0; margin: 0; vertical-align: middle; } button.primary { background: #0860ca; color: #fff; border-color: #0860ca; } button.danger { background: #b01c28; color: #fff; border-color: #b01c28; } :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 46rem) { table, tbody, tr, td { display: block; width: auto; } thead { position: absolute; left: -999rem; } tr { border-bottom: 1px solid var(--line); padding: .5rem 0; } td, td.wide { border: 0; padding: .1rem 0; white-space: normal; overflow-wrap: anywhere; min-width: 0; } td.number { text-align: left; } td:empty { display: none; } td::before { content: attr(data-name) ": "; color: var(--quiet); } }
`;

/** Every page loads only its own style: no script, no image, no frame. */
export const HEADERS = {
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${hash("sha256", STYLE, "base64")}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "same-origin",
};

/** The content of a page. A page with `refreshSeconds` reloads itself. */
export type View = { title: string; main: Markup; status?: number; refreshSeconds?: number | undefined };

/** A whole page below `base`. */
export function layout(base: string, { title, main, refreshSeconds }: View): string {
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />${refreshSeconds && markup`<meta http-equiv="refresh" content="${refreshSeconds}" />`}<title>${title} · receiver</title>${{ markup: `<style>${STYLE}</style>` }}</head>
<body><header><strong>Receiver</strong><nav aria-label="Pages"><a href="${base}/">Overview</a><a href="${base}/events">Events</a>
<a href="${base}/events?state=dead">Dead</a><a href="${base}/actions">Actions</a></nav><form action="${base}/event" role="search">
<input name="id" aria-label="Id of an event" placeholder="evt_…" required /><button>Find</button></form></header>
<main><h1>${title}</h1>${main}</main></body></html>
`.markup;
}

/**
 * A table, or `none` if there are no rows. `headings` is separated by commas; `#` marks a column of numbers, `*` a column of
 * text that takes the remaining width.
 */
export function table(headings: string, rows: readonly (readonly Value[])[], none?: Value): Markup {
  if (rows.length === 0) return markup`<p>${none}</p>`;
  const columns = headings.split(",").map((heading) => {
    const kind = heading.startsWith("#") ? "number" : heading.startsWith("*") && "wide";
    return { kind, name: heading.replace(/^[#*]/, "") };
  });
  const head = columns.map(({ kind, name }) => markup`<th class="${kind}">${name}</th>`);
  const cell = ({ kind, name }: (typeof columns)[number], value: Value): Markup =>
    markup`<td class="${kind}" data-name="${name}">${value}</td>`;
  const body = rows.map((cells) => markup`<tr>${columns.map((column, at) => cell(column, cells[at]))}</tr>`);
  return markup`<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** Links to the confirmation of a requeue and of a discard, if jobs in this state can be changed. */
export function questions(base: string, selection: Fields): Markup {
  const { state = "dead" } = selection;
  const to = (action: string, words: string): Markup =>
    markup`<a class="button" href="${link(`${base}/confirm`, { action, ...selection })}">${words}</a> `;
  return markup`${/dead|ignored|done/.test(state) && to("requeue", "Requeue…")}${/dead|waiting/.test(state) && to("discard", "Discard…")}`;
}

export function link(path: string, fields: Fields): string {
  const pairs = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs).toString()}`;
}

/** A time as UTC to the second, and how long ago it was. */
export function moment(atMs: number | null | undefined, nowMs: number): Markup {
  if (atMs === null || atMs === undefined) return markup``;
  const minutes = Math.round(Math.abs(atMs - nowMs) / 60_000);
  const distance = minutes < 120 ? `${String(minutes)} min` : `${String(Math.round(minutes / 60))} h`;
  const iso = new Date(atMs).toISOString();
  return markup`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")}</time> <span class="quiet">${atMs > nowMs ? `in ${distance}` : `${distance} ago`}</span>`;
}
