import { createHash } from "node:crypto";
import { printable } from "../../../shared/printable.ts";

/** Markup that is safe to send: what stood in it as a value has been escaped. */
export type Markup = { readonly markup: string };

type Value = Markup | string | number | null | undefined | false | readonly Markup[];

/** Builds markup; every value in it is text, unless it was made by `markup` itself. */
export function markup(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return {
    markup: parts.map((part, index) => part + (index < values.length ? of(values[index]) : "")).join(""),
  };
}

function of(value: Value): string {
  if (value === null || value === undefined || value === false) return "";
  if (typeof value === "string" || typeof value === "number") return escaped(String(value));
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Characters that steer the direction of text, or cannot be seen, are shown as escapes. */
function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

/** A text of several lines. */
export function lines(text: string): Markup {
  return { markup: text.split("\n").map(escaped).join("\n") };
}

const STYLE = `
:root { color-scheme: light dark; --back: #fff; --text: #1c1c21; --line: #8885; --quiet: #63636b; --good: #1a7f37; --bad: #c21e2b; --wait: #8a5a00; --accent: #0860ca; }
@media (prefers-color-scheme: dark) { :root { --back: #16161a; --text: #ececf1; --quiet: #a5a5ad; --good: #4ac26b; --bad: #ff8078; --wait: #d9a520; --accent: #6cb6ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 1rem; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
header, form, .row { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: end; } header { align-items: center; border-bottom: 1px solid var(--line); padding-bottom: .6rem; }
header form { margin-left: auto; } nav { display: flex; gap: .9rem; } form { margin: .6rem 0; }
h1 { font-size: 1.35rem; margin: 1.1rem 0 .5rem; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; } a { color: var(--accent); }
label { max-width: 100%; } .quiet, label span { color: var(--quiet); } label span { display: block; font-size: .8rem; } .done { color: var(--good); } .dead { color: var(--bad); } .waiting, .running { color: var(--wait); }
.alert { border: 1px solid var(--bad); border-left-width: 5px; border-radius: .4rem; padding: .5rem .75rem; color: var(--bad); overflow-wrap: anywhere; } .note { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .75rem; }
.scroll { overflow-x: auto; width: 100%; } table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--quiet); font-size: .85rem; } td.wide { white-space: normal; overflow-wrap: anywhere; width: 100%; min-width: 16rem; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: .85rem/1.4 ui-monospace, monospace; } pre { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
button, select, input, .button { font: inherit; min-height: 2.3rem; padding: .25rem .8rem; border-radius: .4rem; border: 1px solid var(--line); background: var(--back); color: var(--text); max-width: 100%; } button, .button { cursor: pointer; text-decoration: none; display: inline-block; line-height: 1.7rem; }
input[type=checkbox] { width: 1.5rem; height: 1.5rem; min-height: 0; margin: 0; } button.primary { background: #0860ca; color: #fff; border-color: #0860ca; } button.danger { background: #b01c28; color: #fff; border-color: #b01c28; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 46rem) { table, tbody, tr, td { display: block; width: auto; } thead { position: absolute; left: -999rem; } tr { border-bottom: 1px solid var(--line); padding: .5rem 0; } td, td.wide { border: 0; padding: .1rem 0; white-space: normal; overflow-wrap: anywhere; min-width: 0; } td.number { text-align: left; } td[data-name]::before { content: attr(data-name) ": "; color: var(--quiet); } }
`;

/** The style of every page, and the policy that allows nothing else: no script, no picture, no frame. */
export const STYLE_ELEMENT: Markup = { markup: `<style>${STYLE}</style>` };
export const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`;
