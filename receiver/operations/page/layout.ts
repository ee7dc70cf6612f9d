import { html, type Html } from "./html.ts";
import { STYLE_ELEMENT } from "./style.ts";

/** A whole page as text. */
export function layout({ title, main }: { title: string; main: Html }): string {
  const { markup } = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${title} · receiver</title>
      ${STYLE_ELEMENT}
    </head>
    <body>
      <header>
        <strong>Receiver</strong>
        <nav aria-label="Pages">
          <a href="/">Overview</a> · <a href="/events">Events</a> ·
          <a href="/events?state=dead">Dead letters</a>
        </nav>
      </header>
      <main>
        <h1>${title}</h1>
        ${main}
      </main>
    </body>
  </html>`;
  return `<!doctype html>\n${markup}\n`;
}

/** A table with these headings; one that begins with `#` is that of numbers, one with `-` is not to be seen. */
export function table(headings: readonly string[], rows: readonly Html[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${headings.map((heading) => {
          if (heading.startsWith("#")) return html`<th class="number">${heading.slice(1)}</th>`;
          if (heading.startsWith("-")) return html`<th><span class="unseen">${heading.slice(1)}</span></th>`;
          return html`<th>${heading}</th>`;
        })}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

/** A form that asks for a requeue of what its fields choose; a field without a value is left out. */
export function requeueForm(fields: Fields, button: string | Html): Html {
  return html`<form method="post" action="/requeue">
    ${hidden(fields)}${typeof button === "string" ? html`<button>${button}</button>` : button}
  </form>`;
}

export type Fields = readonly (readonly [name: string, value: string | undefined])[];

export function hidden(fields: Fields): Html[] {
  return fields.flatMap(([name, value]) =>
    value === undefined ? [] : html`<input type="hidden" name="${name}" value="${value}" />`,
  );
}

/** A point in time as UTC to the second, and how long ago it was. */
export function moment(atMs: number, nowMs: number): Html {
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")} UTC</time>
    <span class="quiet">(${distance(atMs - nowMs)})</span>`;
}

/** Whole seconds, minutes, hours or days from now: `3 min ago`, `in 2 h`. */
export function distance(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  const [size = 1, unit = "s"] = UNITS.find(([from]) => seconds >= from) ?? [];
  const text = `${String(Math.floor(seconds / size))} ${unit}`;
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];
