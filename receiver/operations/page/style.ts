import { createHash } from "node:crypto";
import type { Html } from "./html.ts";

/** The page's only style sheet, in its head: no build, no second request, and readable on a phone at night. */
const STYLE = `
html { background: var(--back); color: var(--text); }
:root { color-scheme: light dark; --back: #fff; --text: #1c1c21; --line: #8884; --quiet: #6b6b73; --good: #1a7f37; --bad: #cf222e; --wait: #9a6700; --accent: #0969da; }
@media (prefers-color-scheme: dark) { :root { --back: #16161a; --text: #ececf1; --quiet: #9b9ba3; --good: #4ac26b; --bad: #ff7b72; --wait: #d9a520; --accent: #6cb6ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; font: 16px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: baseline; border-bottom: 1px solid var(--line); padding-bottom: .5rem; }
header strong { margin-right: auto; }
h1 { font-size: 1.35rem; margin: 1.25rem 0 .5rem; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
a { color: var(--accent); }
.unseen { position: absolute; left: -999rem; }
.quiet { color: var(--quiet); } .done { color: var(--good); } .dead { color: var(--bad); } .pending, .claimed { color: var(--wait); }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; min-width: 6.5rem; }
.counts b { display: block; font-size: 1.4rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: .875rem/1.4 ui-monospace, monospace; } pre { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; white-space: pre-wrap; }
button, .button, select, input { font: inherit; min-height: 2.5rem; padding: .35rem .9rem; border-radius: .5rem; border: 1px solid var(--line); }
input[type=checkbox] { min-height: 1.25rem; width: 1.25rem; height: 1.25rem; }
button.primary { background: #0969da; color: #fff; border-color: #0969da; } button { cursor: pointer; }
form.filter { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; } label span { display: block; font-size: .8rem; color: var(--quiet); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 40rem) {
  table, tbody, tr, td { display: block; } thead { position: absolute; left: -999rem; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; } td { border: 0; padding: .1rem 0; } td.number { text-align: left; }
  td[data-name]::before { content: attr(data-name) ": "; color: var(--quiet); }
}`;

/** The style as it stands in a page: to the letter, since the policy below names its hash. */
export const STYLE_ELEMENT: Html = { markup: `<style>${STYLE}</style>` };

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** Nothing but this page's own style and forms: no script, no picture, no frame. */
export const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`;
