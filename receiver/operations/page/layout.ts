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
